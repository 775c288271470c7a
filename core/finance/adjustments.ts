import type { ClientBase, Pool } from 'pg'
import { type Actor, audited } from '../audit/audit.ts'
import type { Clock } from '../clock.ts'
import { Fault } from '../errors.ts'
import { uuidv7 } from '../ids.ts'
import { type Adjustment, adjust, adjustmentId, NotBookable, placeOf } from '../ledger/adjust.ts'
import type { Asset, Outcome } from '../ledger/events.ts'
import { type Books, booksWithin } from '../ledger/in-transaction.ts'
import type { Micros } from '../money.ts'

/** Somebody of the house with an account: whoever decides about money. */
export type Staff = Actor & { readonly principal: string }

export interface FinancePorts {
  readonly pool: Pool
  readonly ledger: Books
  readonly clock: Clock
  /** Adjustments up to it, in microdollars, one person books alone. */
  readonly adjustAlone: Micros
}

/** An adjustment that was proposed, and perhaps decided. */
export interface Proposal extends Adjustment {
  readonly id: string
  readonly asset: Asset
  readonly reason: string
  readonly proposedBy: string
  readonly proposer: string
  readonly proposedAt: Date
  readonly state: 'proposed' | 'booked' | 'declined'
  readonly decidedBy: string | null
  readonly decidedAt: Date | null
  readonly note: string | null
}

const SELECT = `SELECT id, debit, credit, amount, (SELECT s.code FROM ledger.account a
    JOIN ledger.asset s ON s.id = a.asset WHERE a.code = debit) AS asset, shard,
  value_date AS "valueDate", reason,
  proposed_by AS "proposedBy", proposer, proposed_at AS "proposedAt", state,
  decided_by AS "decidedBy", decided_at AS "decidedAt", note FROM hub.adjustment`

/** Proposals, the newest first; or those alone that wait for a decision. */
export async function listProposals(
  pool: Pool,
  { open, limit, after }: { open: boolean; limit: number; after: string | undefined },
): Promise<readonly Proposal[]> {
  const { rows } = await pool.query<Proposal>(
    `${SELECT} WHERE ($1::uuid IS NULL OR id < $1) AND (NOT $2 OR state = 'proposed')
     ORDER BY id DESC LIMIT $3`,
    [after ?? null, open, limit],
  )
  return rows
}

/** What has become of an adjustment: booked by one, or waiting for a second one. */
export interface Submitted {
  readonly id: string
  readonly state: Proposal['state']
}

/**
 * Books a correction, or, above what one person may book, proposes it to a second one.
 * @param key a name of the caller's: the same name again is the same adjustment
 * @throws Fault `not_booked`
 */
export const submitAdjustment = (
  { pool, ledger, clock, adjustAlone }: FinancePorts,
  by: Staff,
  order: Adjustment,
  reason: string,
  key?: string,
): Promise<Submitted> =>
  audited(pool, by, reason, async (client, note) => {
    const books = booksWithin(ledger, client)
    const { asset } = await refusing(() => placeOf(client, books, order))
    const id = await idOf({ client, books, clock }, order, asset, key)
    const known = key === undefined ? undefined : await findProposal(client, id)
    if (known) return { id, state: known.state }
    const change = { subject: id, after: { ...order, asset } }
    if (asset === 'USDC' && order.amount <= adjustAlone) {
      const decision = { author: by.name, reason }
      const outcome = await refusing(() => adjust(client, books, order, decision, { id }))
      if (isNew(outcome)) note({ act: 'entry.adjust', ...change })
      return { id, state: 'booked' }
    }
    await client.query(
      `INSERT INTO hub.adjustment (id, debit, credit, amount, shard, value_date, reason,
         proposed_by, proposer) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
      [
        id,
        order.debit,
        order.credit,
        order.amount,
        order.shard ?? null,
        order.valueDate ?? null,
        reason,
        by.name,
        by.principal,
      ],
    )
    note({ act: 'entry.propose', ...change })
    return { id, state: 'proposed' }
  })

async function idOf(
  { client, books, clock }: { client: ClientBase; books: Books; clock: Clock },
  order: Adjustment,
  asset: Asset,
  key: string | undefined,
): Promise<string> {
  const made = uuidv7(clock.now().getTime())
  const id = await adjustmentId(client, books, order, asset, { id: made, key })
  if (id === undefined) throw new Fault('idempotency_key_reused')
  return id
}

/**
 * Books what another person proposed, or declines it; whoever proposed it may only decline.
 * @throws Fault `not_found`, `second_person_required`, `not_booked`
 */
export const decideAdjustment = (
  { pool, ledger }: FinancePorts,
  by: Staff,
  id: string,
  decision: 'confirm' | 'decline',
  reason: string,
): Promise<Submitted> =>
  audited(pool, by, reason, async (client, note) => {
    const found = await findProposal(client, id)
    if (!found) throw new Fault('not_found', 'There is no such proposal.')
    const state = decision === 'confirm' ? 'booked' : 'declined'
    if (found.state === state) return { id, state }
    if (found.state !== 'proposed') throw new Fault('not_booked', `It was ${found.state} before.`)
    if (decision === 'confirm') {
      if (await isSamePerson(client, by.principal, found.proposer)) {
        throw new Fault('second_person_required')
      }
      const books = booksWithin(ledger, client)
      const author = `${found.proposedBy}, confirmed by ${by.name}`
      const why = { author, reason: found.reason }
      isNew(await refusing(() => adjust(client, books, orderOf(found), why, { id })))
    }
    await client.query(
      `UPDATE hub.adjustment SET state = $2, decided_by = $3, decider = $4,
         decided_at = clock_timestamp(), note = $5 WHERE id = $1`,
      [id, state, by.name, by.principal, reason],
    )
    const { debit, credit, amount, asset } = found
    note({
      act: `entry.${decision}`,
      subject: id,
      before: { state: 'proposed', by: found.proposedBy },
      after: { state, debit, credit, amount, asset },
    })
    return { id, state }
  })

/** An account of mail and the wallets that are linked to it are one person. */
async function isSamePerson(client: ClientBase, a: string, b: string): Promise<boolean> {
  const { rows } = await client.query<{ persons: number }>(
    `SELECT count(DISTINCT coalesce(l.person, p.id))::integer AS persons
     FROM hub.principal p LEFT JOIN hub.wallet_link l ON l.wallet = p.id WHERE p.id IN ($1, $2)`,
    [a, b],
  )
  return rows[0]!.persons < 2
}

const orderOf = ({ debit, credit, amount, shard, valueDate }: Proposal): Adjustment => ({
  debit,
  credit,
  amount,
  shard: shard ?? undefined,
  valueDate: valueDate ?? undefined,
})

async function findProposal(client: ClientBase, id: string): Promise<Proposal | undefined> {
  const { rows } = await client.query<Proposal>(`${SELECT} WHERE id = $1`, [id])
  return rows[0]
}

const WHY: Readonly<Partial<Record<Outcome, string>>> = {
  insufficient_funds: 'An account does not have so much.',
  no_such_hold: 'The call was not charged.',
  above_hold: 'The call was charged less.',
  id_reused_with_other_terms: 'Something else was booked under this name, or for this call.',
}

/**
 * Whether an entry is a new one.
 * @throws Fault `not_booked` when there is none
 */
export function isNew(outcome: Outcome): boolean {
  if (outcome === 'applied') return true
  if (outcome === 'replayed') return false
  throw new Fault('not_booked', WHY[outcome])
}

/** The rules of the books, told as they tell them. @throws Fault `not_booked` */
export async function refusing<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const { code, message } = error as { code?: unknown; message: string }
    const isRule = error instanceof NotBookable || /^(?:23514|AH001)$/.test(String(code))
    if (!isRule) throw error
    throw new Fault('not_booked', `${message[0]!.toUpperCase()}${message.slice(1)}.`, {
      cause: error,
    })
  }
}
