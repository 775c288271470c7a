import { dayName, daysBefore } from '../../clock.ts'
import { readSnapshot } from '../../db/transaction.ts'
import { Fault } from '../../errors.ts'
import type { KeyManager } from '../../identity/sub-keys.ts'
import { json } from '../../money.ts'
import { findTrail, type JournalEntryView } from '../journal.ts'
import type { DocumentKind, LedgerRange, Tax } from './document.ts'
import { commissionSource, earningsSource } from './provider-sources.ts'
import {
  NOTHING,
  parsePastMonth,
  type ReadSource,
  type SourceDeps,
  type SourceLine,
} from './source.ts'
import { statementContent, taxOfCall } from './statement-content.ts'
import { readStatementFigures } from './statement-figures.ts'

const PREPAID: Tax = {
  category: 'O',
  rate_bps: 0,
  reason: 'Prepaid credits: the services are taxed when they are used',
}

interface Purchase {
  readonly shard: number
  readonly seq: bigint
  readonly at: Date
  readonly key: string
  readonly principal: string
  readonly amount: bigint
  readonly transaction: string | null
}

/** Receipt for a purchase of credits, by the id of its entry. */
const purchaseSource: ReadSource = async ({ pool }, principals, id) => {
  const { rows } = await pool.query<Purchase>(
    `SELECT j.shard, j.seq, j.at, k.id AS key, k.principal, l.amount,
       coalesce(j.meta ->> 'transaction', c.transaction) AS transaction
     FROM ledger.owners_of($1) o CROSS JOIN LATERAL ledger.entry_at(o.shard, o.seq) j
     JOIN ledger.kind e ON e.id = j.kind AND e.event = 'credits.purchased'
     CROSS JOIN LATERAL ledger.legs(ROW(j.*)::ledger.journal) l
     JOIN hub.api_key k ON k.credits = l.account AND k.parent IS NULL AND k.principal = ANY ($2)
     LEFT JOIN hub.payment_claim c ON c.id = j.id`,
    [id, principals],
  )
  const [found] = rows
  if (!found) throw new Fault('not_found', 'None of your keys has a purchase with this id.')
  const { key, principal, at, amount, transaction, ...place } = found
  return {
    ...NOTHING,
    principal,
    currency: 'USD',
    day: dayName(at),
    transaction,
    lines: [
      {
        description: `Credits of ${key}`,
        quantity: 1,
        ledger: [entryRange(id, place)],
        gross: amount,
        taxFor: () => PREPAID,
      },
    ],
    notes: ['Paid in USDC. One USDC is stated as one USD.'],
  }
}

const entryRange = (
  id: string,
  { shard, seq }: { readonly shard: number; readonly seq: bigint },
): LedgerRange => ({ shard, from_seq: json(seq), to_seq: json(seq), entry_id: id })

const CHARGES: readonly string[] = ['call.settled', 'call.sold']
const REFUNDS: readonly string[] = ['call.reversed', 'sale.reversed', 'external.refunded']

/** Finds a charged call of these principals. @throws Fault `not_found`, `document_not_available` */
async function findCharged({ pool }: SourceDeps, principals: KeyManager, id: string) {
  const { call, entries } = await findTrail(pool, id)
  // Calls without a key are recorded under the wallet that paid.
  const { rows } = await pool.query<{ id: string }>(
    `SELECT id FROM hub.principal WHERE id = ANY ($1) AND $2 IN (id, 'x402:' || wallet_address)`,
    [principals, call?.principal ?? ''],
  )
  const [owner] = rows
  if (!call || !owner) throw new Fault('not_found', 'None of your keys made a call with this id.')
  if (call.charged + call.refunded === 0n) {
    throw new Fault('document_not_available', 'The call was not charged.')
  }
  return { principal: owner.id, call, entries }
}

/** Line of a call: what was charged, or refunded. */
function callLine(
  text: string,
  { endpoint }: { readonly endpoint: string },
  entries: readonly JournalEntryView[],
  gross: bigint,
): SourceLine {
  const [, service = ''] = endpoint.split('/')
  const ledger = entries.map((entry) => entryRange(entry.id, entry))
  const description = `${text} ${endpoint}`
  return { description, quantity: 1, ledger, gross, taxFor: taxOfCall(service) }
}

/** Receipt for a charged call, by its id. */
const callSource: ReadSource = async (deps, principals, id) => {
  const { principal, call, entries } = await findCharged(deps, principals, id)
  const charges = entries.filter(({ event }) => CHARGES.includes(event))
  const { transaction } = charges[0]?.meta ?? {}
  return {
    ...NOTHING,
    principal,
    currency: 'USD',
    day: dayName(call.at),
    transaction: typeof transaction === 'string' ? transaction : null,
    lines: [callLine('Call of', call, charges, call.charged + call.refunded)],
    notes: [
      call.source === 'x402'
        ? 'Paid in USDC per request. One USDC is stated as one USD.'
        : 'Paid with prepaid credits.',
    ],
  }
}

/** Credit note for the refund of a call, by the id of the call. */
const creditNoteSource: ReadSource = async (deps, principals, id) => {
  const { principal, call, entries } = await findCharged(deps, principals, id)
  if (call.refunded === 0n) {
    throw new Fault('document_not_available', 'The call was not refunded.')
  }
  const refunds = entries.filter(({ event }) => REFUNDS.includes(event))
  return {
    ...NOTHING,
    principal,
    currency: 'USD',
    day: refunds[0]!.bookedAt.slice(0, 10),
    lines: [callLine('Refund of', call, refunds, call.refunded)],
  }
}

/** Statement of a principal for a month that is over. @param subject `prn_…:2026-11` */
const statementSource: ReadSource = async ({ pool, clock }, principals, subject) => {
  const [principal = '', month = ''] = subject.split(':')
  if (!principals.includes(principal)) throw new Fault('not_found', 'You have no such account.')
  const { from, to } = parsePastMonth(month, clock)
  const figures = await readSnapshot(pool, (client) =>
    readStatementFigures(client, principal, { from, to }),
  )
  const parts = statementContent(figures)
  if (parts.lines.length === 0) {
    throw new Fault('document_not_available', 'No calls were charged in this month.')
  }
  const last = dayName(daysBefore(to, 1))
  const period = { from: dayName(from), to: last }
  return { ...NOTHING, ...parts, principal, currency: 'USD', day: last, period }
}

export const SOURCES: Readonly<Record<DocumentKind, ReadSource>> = {
  purchase: purchaseSource,
  call: callSource,
  statement: statementSource,
  commission: commissionSource,
  earnings: earningsSource,
  'credit-note': creditNoteSource,
}
