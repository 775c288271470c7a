import { z } from 'zod'
import { Fault } from '../../../../core/errors.ts'
import type { DecisionJson } from '../../../rest/finance/proposals.ts'
import type { ExceptionJson } from '../../../rest/finance/reconciliation.ts'
import { form, formFields } from '../../form.ts'
import { alignedColumn, formatDollars, pluralize } from '../../format.ts'
import { type Html, html } from '../../html.ts'
import { successMessage } from '../../messages.ts'
import { type FormAction, formAction, type PageRequest, type Submission } from '../../page.ts'
import { cardTable, timeAgo } from '../../table.ts'
import { reason, reasonField } from './components.ts'

type Open = Pick<
  ExceptionJson,
  'exception_id' | 'amount_microdollars' | 'wallet' | 'transaction' | 'kind' | 'found_at'
>

/** Two exceptions whose amounts cancel each other out. */
export type Match<Row> = readonly [Row, Row]

/**
 * Pairs exceptions that cancel each other out: those of one transaction first, then those of one
 * wallet, the nearest in time first. Each exception is in one pair at most.
 */
export function proposeMatches<Row extends Open>(open: readonly Row[]): readonly Match<Row>[] {
  const pairs = open.flatMap((a, i) =>
    open
      .slice(i + 1)
      .filter((b) => a.amount_microdollars === -b.amount_microdollars && isRelated(a, b))
      .map((b) => [a, b] as const),
  )
  const taken = new Set<Row>()
  return pairs
    .toSorted(([a, b], [c, d]) => distance(a, b) - distance(c, d))
    .filter(([a, b]) => {
      if (taken.has(a) || taken.has(b)) return false
      taken.add(a).add(b)
      return true
    })
}

const isSameTransaction = (a: Open, b: Open): boolean =>
  a.transaction !== null && a.transaction === b.transaction

const isRelated = (a: Open, b: Open): boolean =>
  a.amount_microdollars !== 0 && (a.wallet === b.wallet || isSameTransaction(a, b))

/** Milliseconds between two exceptions; none within one transaction. */
const distance = (a: Open, b: Open): number =>
  isSameTransaction(a, b) ? -1 : Math.abs(Date.parse(a.found_at) - Date.parse(b.found_at))

const BULK_DECISIONS = {
  explained: 'Post nothing: the selected ones cancel each other out',
  post: 'Post each: a surplus to suspense, a shortfall as an expense',
}
/** Checkbox of an exception in the form; its value is the decision that posts it. */
const PICK = 'pick-'

const BulkFields = z.looseObject({ decision: z.enum(['explained', 'post']), reason })

/** Resolves the selected exceptions by one decision. */
export const bulkAction: FormAction = formAction({
  fields: BulkFields,
  run: async ({ api }, fields) => {
    const ids = Object.keys(fields).flatMap((name) =>
      name.startsWith(PICK) ? [name.slice(PICK.length)] : [],
    )
    const [first, ...together] = ids
    if (first === undefined) throw new Fault('validation_failed', 'Select at least one exception.')
    const resolve = (id: string, order: object) =>
      api<DecisionJson>('POST /v1/finance/exceptions/{id}/resolve', {
        params: { id },
        body: { ...order, reason: fields.reason },
      })
    if (fields.decision === 'explained') {
      await resolve(first, { decision: 'explained', together })
      return { message: successMessage(`${pluralize(ids.length, 'exception')} resolved.`) }
    }
    const made: DecisionJson[] = []
    for (const id of ids) {
      const decision = fields[`${PICK}${id}`]
      made.push(await resolve(id, { decision }).catch(partialFault(made.length)))
    }
    return { message: successMessage(summaryOf(made)) }
  },
})

const summaryOf = (made: readonly DecisionJson[]): string => {
  const proposed = made.filter(({ state }) => state === 'proposed').length
  const resolved = `${pluralize(made.length - proposed, 'exception')} resolved.`
  if (proposed === 0) return resolved
  return `${resolved} A second person must confirm ${proposed} above your daily limit.`
}

/** Says how many exceptions were resolved before one failed. */
const partialFault =
  (done: number) =>
  (error: unknown): never => {
    if (done === 0 || !(error instanceof Fault)) throw error
    throw new Fault(error.code, `${done} resolved, then one failed: ${error.message}`)
  }

/** Open exceptions in a table, with proposed matches and a form that resolves several at once. */
export const triage = (open: readonly ExceptionJson[], request: PageRequest): Html =>
  html`${matchesPart(proposeMatches(open))}<h2>Resolve several</h2>${bulkForm(
    open,
    request.submission,
  )}`

const matchesPart = (matches: readonly Match<ExceptionJson>[]): Html | undefined =>
  matches.length === 0
    ? undefined
    : html`<h2>Proposed matches</h2><p>These differences cancel each other out.</p>${cardTable(
        'Proposed matches',
        [
          { head: 'Exceptions', cell: ([a, b]) => `${a.exception_id} and ${b.exception_id}` },
          { head: 'Amount', number: true, cell: ([a]) => amountOf(a) },
          {
            head: 'Because',
            cell: ([a, b]) =>
              isSameTransaction(a, b) ? 'same transaction' : `same wallet: ${a.wallet}`,
          },
          { head: 'Action', cell: matchForm },
        ],
        matches,
      )}`

const amountOf = ({ amount_microdollars: amount }: ExceptionJson): string =>
  formatDollars(Math.abs(amount))

const matchForm = ([a, b]: Match<ExceptionJson>): Html =>
  form({
    act: 'resolve',
    submit: 'Accept',
    kind: 'plain',
    label: `Accept: ${a.exception_id} and ${b.exception_id} cancel each other out`,
    hidden: {
      id: a.exception_id,
      decision: 'explained',
      together: b.exception_id,
      reason: `Exceptions ${a.exception_id} and ${b.exception_id} cancel each other out.`,
    },
  })

function bulkForm(open: readonly ExceptionJson[], submission: Submission | undefined): Html {
  const fields = formFields('bulk', submission)
  const table = cardTable(
    'Open exceptions',
    [
      {
        head: 'Select',
        cell: ({ exception_id: id, amount_microdollars: amount }) =>
          html`<label class="pick"><input type="checkbox" name="${PICK}${id}"
value="${amount > 0 ? 'surplus' : 'shortfall'}"> ${id}</label>`,
      },
      { head: 'Found', noWrap: true, cell: (each) => timeAgo(each.found_at) },
      {
        head: 'Kind',
        cell: ({ kind, exception_id: id }) => html`<a href="#exception-${id}">${kindOf(kind)}</a>`,
      },
      { head: 'Wallet', cell: ({ wallet }) => wallet },
      {
        head: 'Chain minus ledger',
        number: true,
        cell: alignedColumn(open, (each) => each.amount_microdollars),
      },
    ],
    open,
  )
  return form({
    act: 'bulk',
    submit: 'Resolve selected',
    fields: [
      table,
      fields.select({ name: 'decision', label: 'Decision', required: true }, BULK_DECISIONS),
      reasonField(fields),
    ],
  })
}

/** Headings by kind of exception. */
const KINDS: Readonly<Record<string, string>> = {
  unknown_deposit: 'Unexplained deposit',
  unknown_withdrawal: 'Unexplained withdrawal',
  missing_on_chain: 'In the ledger, but not on the chain',
  amount_differs: 'Posted with a different amount',
  booked_twice: 'Posted twice',
  no_transaction: 'Posted without a transaction',
  balance_differs: 'Wallet balance differs',
  reorganised: 'Removed by a chain reorganization',
}
export const kindOf = (kind: string): string => KINDS[kind] ?? kind.replaceAll('_', ' ')
