import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { Fault } from '../../../../core/errors.ts'
import { decimalsOf } from '../../../../core/ledger/export/format.ts'
import { HOUSE } from '../../../../core/ledger/postings.ts'
import type { AdjustmentJson, DecidedJson } from '../../../rest/finance/adjustments.ts'
import type { StatementJson } from '../../../rest/finance/statements.ts'
import type { Listed } from '../../../rest/paging.ts'
import { FINANCE } from '../../areas.ts'
import { fieldsOf, form } from '../../form.ts'
import { instantText } from '../../format.ts'
import { type Html, html } from '../../html.ts'
import { empty } from '../../notices.ts'
import { type AnyPage, act, type PageRequest, page, personOn } from '../../page.ts'
import { cardTable, pager } from '../../table.ts'
import { accountLink, entryPath, optionalDay, reason, reasonField, units } from './parts.ts'

const PATH = '/finance/adjustments'
const PAGE = '30'
const account = z.string().trim().min(1, 'name an account').max(300)

const decide = (what: 'confirm' | 'decline') =>
  act({
    fields: z.object({ id: z.uuid(), reason }),
    run: async ({ ask }, { id, reason: why }) => {
      await ask(`POST /v1/finance/adjustments/{id}/${what}`, {
        params: { id },
        body: { reason: why },
      })
      return { to: `${PATH}?done=${what}` }
    },
  })

/** `/finance/adjustments`: corrections by hand, and those that wait for a second person. */
export const adjustmentsPage = (): AnyPage =>
  page({
    path: PATH,
    person: true,
    query: z.object({ cursor: z.string().max(500).optional() }),
    acts: {
      adjust: act({
        fields: z.object({
          debit: account,
          credit: account,
          amount: z
            .string()
            .trim()
            .regex(/^\d{1,12}(?:\.\d{1,6})?$/, 'a number, such as 2.50'),
          value_date: optionalDay,
          key: z.string().max(100),
          reason,
        }),
        run: async ({ ask }, fields) => {
          const body = { ...fields, amount: await amountOf(ask, fields) }
          const made = await ask<DecidedJson>('POST /v1/finance/adjustments', { body })
          return { to: `${PATH}?done=${made.state}` }
        },
      }),
      confirm: decide('confirm'),
      decline: decide('decline'),
    },
    done: {
      booked: 'The adjustment is booked.',
      proposed: 'The amount needs a second person: somebody else has to confirm it.',
      confirm: 'The adjustment is confirmed and booked.',
      decline: 'The adjustment is declined; nothing was booked.',
    },
    show: async (request) => {
      const { cursor } = request.query
      const found = await request.ask<Listed<AdjustmentJson>>('GET /v1/finance/adjustments', {
        query: { limit: PAGE, cursor },
      })
      const open = found.data.filter(({ state }) => state === 'proposed')
      return {
        title: 'Adjustments',
        area: FINANCE,
        tab: 'Adjustments',
        main: html`<h1>Adjustments</h1><p class="lead">Nothing in the journal is ever changed: what
is wrong is corrected by another entry, with author and reason.</p>${
          open.length > 0 &&
          html`<div class="list">${open.map((each) => proposal(request, each))}</div>`
        }${adjustForm(request)}<h2>Proposed so far</h2>
<p class="muted">Those that one person could book stand in the journal, as
<a href="/finance/journal?event=balance.adjusted">balance.adjusted</a>.</p>${
          found.data.length === 0
            ? empty('Nothing was large enough to need two people.')
            : proposals(found.data)
        }${pager(PATH, { cursor }, found.next_cursor)}`,
      }
    },
  })

interface Amount {
  readonly debit: string
  readonly amount: string
}

/** In units of the account's asset. @throws Fault `validation_failed`, at the field */
async function amountOf(ask: PageRequest['ask'], { debit, amount }: Amount): Promise<number> {
  const { asset } = await assetOf(ask, debit)
  const [whole = '', fraction = ''] = amount.split('.')
  const decimals = decimalsOf(asset)
  if (fraction.length <= decimals) return Number(whole + fraction.padEnd(decimals, '0'))
  const message = `${asset} has ${decimals === 0 ? 'no' : `at most ${decimals}`} decimals`
  throw new Fault('validation_failed', message, {
    extras: { issues: [{ path: '/amount', message }] },
  })
}

/** Of an account that there is not, the booking complains. */
const assetOf = (ask: PageRequest['ask'], account: string): Promise<{ readonly asset: string }> =>
  ask<StatementJson>('GET /v1/finance/accounts/{account}/statement', {
    params: { account },
    query: { limit: '1' },
  }).catch((error: unknown) => {
    if (error instanceof Fault && error.status < 500) return { asset: 'USDC' }
    throw error
  })

/** All that a person has to see who is to decide it. */
function proposal(request: PageRequest, each: AdjustmentJson): Html {
  const { session, sent } = request
  const isOwn = each.proposed_by === personOn({ session }).email
  const mine = sent?.values['id'] === each.id ? sent : undefined
  const fields = (what: string) => [reasonField(fieldsOf(what, mine, each.id))]
  const hidden = { id: each.id }
  const decline = form({
    act: 'decline',
    submit: isOwn ? 'Withdraw' : 'Decline',
    kind: 'danger',
    hidden,
    fields: fields('decline'),
  })
  return html`<section class="card"><h2>Waits for a second person: ${units(
    each.amount,
    each.asset,
  )} ${each.asset}</h2><p>Debit ${accountLink(each.debit)}, credit ${accountLink(each.credit)}.
Proposed by ${each.proposed_by}, ${instantText(each.proposed_at)}: ${each.reason}</p>${
    isOwn
      ? html`<p class="muted">Somebody else has to confirm it.</p>`
      : form({ act: 'confirm', submit: 'Confirm and book', hidden, fields: fields('confirm') })
  }<details${mine?.act === 'decline' && html` open`}><summary>${
    isOwn ? 'Withdraw it' : 'Decline it'
  }</summary>${decline}</details></section>`
}

function adjustForm({ sent }: PageRequest): Html {
  const fields = fieldsOf('adjust', sent)
  const key = sent?.act === 'adjust' ? sent.values['key'] : undefined
  return html`<h2 id="new">Book a correction</h2>${form({
    act: 'adjust',
    submit: 'Book it',
    hidden: { key: key ?? `form-${randomUUID()}` },
    fields: [
      fields.text({
        name: 'debit',
        label: 'Debit',
        hint: 'An account, such as expenses:bad-debt.',
        suggestions: HOUSE,
        max: 300,
        required: true,
      }),
      fields.text({
        name: 'credit',
        label: 'Credit',
        hint: 'An account of the same asset.',
        suggestions: HOUSE,
        max: 300,
        required: true,
      }),
      fields.text({
        name: 'amount',
        label: 'Amount',
        hint: 'In the asset of the accounts: 2.50 USDC, 10000 GWEI.',
        numeric: true,
        size: 12,
        required: true,
      }),
      fields.text({
        name: 'value_date',
        label: 'Value date',
        type: 'date',
        hint: 'The day to which it belongs, if not today. A closed month takes nothing more.',
      }),
      reasonField(fields),
    ],
  })}`
}

const BADGES = { proposed: 'fair', booked: 'good', declined: '' } as const

const proposals = (rows: readonly AdjustmentJson[]): Html =>
  cardTable(
    'Proposals',
    [
      { head: 'Proposed', whole: true, cell: (each) => instantText(each.proposed_at) },
      {
        head: 'State',
        cell: ({ state, id }) =>
          state === 'booked'
            ? html`<a href="${entryPath(id)}">booked</a>`
            : html`<span class="badge ${BADGES[state]}">${state}</span>`,
      },
      {
        head: 'Debit, credit',
        cell: ({ debit, credit }) => html`${accountLink(debit)}<br>${accountLink(credit)}`,
      },
      { head: 'Amount', number: true, cell: ({ amount, asset }) => units(amount, asset) },
      { head: 'Asset', cell: ({ asset }) => asset },
      {
        head: 'By, and why',
        cell: (each) =>
          html`${each.proposed_by}${each.decided_by !== null && html`; ${each.decided_by}`}<br>
<span class="small muted">${each.reason}</span>`,
      },
    ],
    rows,
  )
