import type { ClientBase, Pool } from 'pg'
import type { AuditedChange } from '../audit/record.ts'
import { Fault } from '../errors.ts'
import { uuidv7 } from '../ids.ts'
import { balancesAt } from '../ledger/history/balance.ts'
import { ledgerInTransaction } from '../ledger/in-transaction.ts'
import { CONVERSION, ETH_VALUE, GAS, OPENING } from '../ledger/postings.ts'
import { decimal, type Micros, micros, usd } from '../money.ts'
import { isNewEntry, withFaults } from './posting-faults.ts'
import { parseReportPeriod } from './report-period.ts'
import {
  type ActTerms,
  type Execution,
  type FinanceDeps,
  type Staff,
  type SubmittedAct,
  submitAct,
  withActContext,
} from './staff-acts.ts'

/** Price of ETH at the end of a month, and where it was read. */
export interface RevaluationOrder {
  /** UTC month, `2026-11`. */
  readonly month: string
  /** Microdollars per ETH. */
  readonly price: Micros
  readonly source: string
}

/** Amounts of a revaluation in microdollars; none is negative. */
export interface Revaluation {
  readonly gwei: bigint
  /** Value of ETH that came in since the last revaluation, at this price. */
  readonly contributed: Micros
  /** Cost of gas since then, at the prices at which it was posted. */
  readonly spent: Micros
  readonly gain: Micros
  readonly loss: Micros
  /** All ETH that ever came in, which later revaluations deduct. */
  readonly contributedGwei: bigint
}

const GWEI_PER_ETH = 1_000_000_000n

/**
 * Values the ETH of the gas wallet at the end of a month that is over and not closed, or proposes
 * it: see `submitAct`. A second price of the month corrects the first one.
 * @throws Fault `not_booked`
 */
export const submitRevaluation = (
  deps: FinanceDeps,
  by: Staff,
  { month, price, source }: RevaluationOrder,
  reason: string,
): Promise<SubmittedAct> =>
  withActContext(deps, by, reason, async (context) => {
    const terms = { month, price: String(price), source }
    const { contributed, gain, loss } = await readRevaluation(context.client, month, price)
    const order = {
      id: uuidv7(deps.clock.now().getTime()),
      kind: 'revaluation',
      subject: month,
      terms,
      accounts: [],
      exposure: contributed + gain + loss,
    } as const
    return submitAct(context, order, executeRevaluation(deps, order))
  })

/**
 * Execution of a revaluation, as one entry at the end of its month. A price that changes nothing
 * has no entry: the act states it.
 */
export const executeRevaluation =
  (
    { ledger }: Pick<FinanceDeps, 'ledger'>,
    { id, terms }: { readonly id: string; readonly terms: ActTerms },
  ): Execution =>
  async (client, decision) => {
    const [month, source] = [String(terms['month']), String(terms['source'])]
    const price = micros(BigInt(String(terms['price'])))
    const { gwei, contributedGwei, ...amounts } = await readRevaluation(client, month, price)
    const evidence = { price: decimal(price), price_source: source, gwei: String(gwei) }
    const change: AuditedChange = {
      act: 'holdings.revalue',
      subject: month,
      after: { ...evidence, ...amounts },
    }
    if (Object.values(amounts).every((amount) => amount === 0n)) {
      if (!(await isEthValued(client, month))) return change
      throw new Fault('not_booked', `The ETH has this value at the end of ${month} already.`)
    }
    const poster = ledgerInTransaction(ledger, client)
    const owner = await poster.account(ETH_VALUE)
    const meta = { ...decision, ...evidence, contributed_gwei: String(contributedGwei) }
    const effectiveAt = new Date(endOf(month).getTime() - 1)
    const outcome = await withFaults(() =>
      poster.post({ type: 'holdings.revalued', ...amounts }, { owner, id, meta, effectiveAt }),
    )
    return isNewEntry(outcome) ? change : undefined
  }

/** Start of the month after this one (`2026-11`). */
const endOf = (month: string): Date => parseReportPeriod(month)!.to

/** Calculates the revaluation of a month. @throws Fault `not_booked` if it cannot be posted */
async function readRevaluation(
  client: ClientBase,
  month: string,
  price: Micros,
): Promise<Revaluation> {
  const to = endOf(month)
  const valuedGwei = await readValuedGwei(client, to)
  const codes = [GAS, OPENING.GWEI, ETH_VALUE, CONVERSION.USDC]
  const rows = await balancesAt(client, to, { like: codes })
  const balance = (code: string): bigint =>
    rows.find(({ account }) => account === code)?.balance ?? 0n
  const worth = (gwei: bigint): bigint => (gwei * price) / GWEI_PER_ETH
  const contributedGwei = balance(OPENING.GWEI)
  const gwei = -balance(GAS)
  const contributed = positive(worth(contributedGwei - valuedGwei))
  const spent = positive(balance(CONVERSION.USDC))
  const change = positive(worth(gwei)) + balance(ETH_VALUE)
  const result = change - contributed + spent
  return {
    gwei,
    contributedGwei,
    contributed,
    spent,
    gain: positive(result),
    loss: positive(-result),
  }
}

/** Returns true if the ETH is valued at the end of a month, or there was none. */
export async function isEthValued(client: Pool | ClientBase, month: string): Promise<boolean> {
  const { to } = parseReportPeriod(month)!
  const balances = await balancesAt(client, to, { like: [GAS, CONVERSION.USDC, ETH_VALUE] })
  const balance = (code: string): bigint =>
    balances.find(({ account }) => account === code)?.balance ?? 0n
  const [gwei, unvaluedCost, value] = [-balance(GAS), balance(CONVERSION.USDC), -balance(ETH_VALUE)]
  if (gwei === 0n && unvaluedCost <= 0n && value === 0n) return true
  const price = await readPrice(client, month)
  if (price === undefined || unvaluedCost > 0n) return false
  return value === positive((gwei * price) / GWEI_PER_ETH)
}

/** Reads the last price of a month: that of its entry, or of an act that changed nothing. */
async function readPrice(client: Pool | ClientBase, month: string): Promise<Micros | undefined> {
  const { from, to } = parseReportPeriod(month)!
  const { rows: posted } = await client.query<{ price: string }>(
    `SELECT j.meta ->> 'price' AS price FROM ledger.head h
     JOIN ledger.journal j ON j.shard = h.shard AND j.kind > 3 AND j.kind = (SELECT k.id
       FROM ledger.kind k WHERE k.event = 'holdings.revalued')
     WHERE j.effective_at >= $1 AND j.effective_at < $2 ORDER BY j.at DESC LIMIT 1`,
    [from, to],
  )
  if (posted[0]) return usd(posted[0].price)
  const { rows: stated } = await client.query<{ price: string }>(
    `SELECT a.terms ->> 'price' AS price FROM hub.staff_act a
     WHERE a.kind = 'revaluation' AND a.subject = $1 AND a.state = 'booked'
     ORDER BY a.decided_at DESC LIMIT 1`,
    [month],
  )
  return stated[0] && micros(BigInt(stated[0].price))
}

const positive = (amount: bigint): Micros => micros(amount > 0n ? amount : 0n)

/**
 * Reads how much ETH earlier revaluations have valued.
 * @throws Fault `not_booked` if the month is not over or closed, or a later one was valued before
 */
async function readValuedGwei(client: ClientBase, to: Date): Promise<bigint> {
  // One revaluation at a time: each starts from the value that the previous one left.
  await client.query("SELECT pg_advisory_xact_lock(hashtextextended('holdings.revalued', 0))")
  const { rows: states } = await client.query<{ early: boolean; closed: boolean }>(
    'SELECT $1 > clock_timestamp() AS early, coalesce($1 <= ledger.open_since(), false) AS closed',
    [to],
  )
  const { early, closed } = states[0]!
  const { rows } = await client.query<{ later: boolean; valued: bigint }>(
    `SELECT coalesce(bool_or(coalesce(j.effective_at, j.at) >= $1), false) AS later,
       coalesce(max((j.meta ->> 'contributed_gwei')::bigint), 0) AS valued
     FROM ledger.head h LEFT JOIN ledger.journal j ON j.shard = h.shard
       AND j.kind > 3 AND j.kind = (SELECT k.id FROM ledger.kind k
         WHERE k.event = 'holdings.revalued')`,
    [to],
  )
  const { later, valued } = rows[0]!
  if (early) throw new Fault('not_booked', 'The month is not over.')
  if (closed) throw new Fault('not_booked', 'The month is closed: value the ETH before closing.')
  if (later)
    throw new Fault('not_booked', 'The ETH was valued at the end of a later month already.')
  return valued
}
