import type { ClientBase, Pool } from 'pg'
import { type Actor, withAudit } from '../audit/record.ts'
import type { Clock } from '../clock.ts'
import { Fault } from '../errors.ts'
import { uuidv7 } from '../ids.ts'
import { type Adjustment, adjust, claimEntryId, findOwner, NotPostable } from '../ledger/adjust.ts'
import type { Asset, LedgerOutcome } from '../ledger/events.ts'
import { ledgerInTransaction, type PostingLedger } from '../ledger/in-transaction.ts'
import type { Micros } from '../money.ts'

/** A staff member with an account, who may decide about money. */
export type Staff = Actor & { readonly principal: string }

export interface FinanceDeps {
  readonly pool: Pool
  readonly ledger: PostingLedger
  readonly clock: Clock
  /** Largest adjustment that one person may post alone, in microdollars. */
  readonly soloAdjustmentMax: Micros
}

/** A proposed adjustment and its decision, if there is one. */
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

const PROPOSAL_SELECT = `SELECT id, debit, credit, amount, (SELECT s.code FROM ledger.account a
    JOIN ledger.asset s ON s.id = a.asset WHERE a.code = debit) AS asset, shard,
  value_date AS "valueDate", reason,
  proposed_by AS "proposedBy", proposer, proposed_at AS "proposedAt", state,
  decided_by AS "decidedBy", decided_at AS "decidedAt", note FROM hub.adjustment`

/** Reads proposals, the newest first; with `open`, only those that await a decision. */
export async function listProposals(
  pool: Pool,
  { open, limit, after }: { open: boolean; limit: number; after: string | undefined },
): Promise<readonly Proposal[]> {
  const { rows } = await pool.query<Proposal>(
    `${PROPOSAL_SELECT} WHERE ($1::uuid IS NULL OR id < $1) AND (NOT $2 OR state = 'proposed')
     ORDER BY id DESC LIMIT $3`,
    [after ?? null, open, limit],
  )
  return rows
}

/** State of a submitted adjustment: posted, or awaiting a second person. */
export interface SubmittedAdjustment {
  readonly id: string
  readonly state: Proposal['state']
}

/** Posts a correction, or proposes it above `adjustAlone`. @throws Fault `not_booked` */
export const submitAdjustment = (
  { pool, ledger, clock, soloAdjustmentMax }: FinanceDeps,
  by: Staff,
  order: Adjustment,
  reason: string,
  key?: string,
): Promise<SubmittedAdjustment> =>
  withAudit(pool, by, reason, async (client, note) => {
    const poster = ledgerInTransaction(ledger, client)
    const { asset } = await withFaults(() => findOwner(client, poster, order))
    const id = await claimId({ client, ledger: poster, clock }, order, asset, key)
    const known = key === undefined ? undefined : await findProposal(client, id)
    if (known) return { id, state: known.state }
    const change = { subject: id, after: { ...order, asset } }
    if (asset === 'USDC' && order.amount <= soloAdjustmentMax) {
      const decision = { author: by.name, reason }
      const outcome = await withFaults(() => adjust(client, poster, order, decision, { id }))
      if (isNewEntry(outcome)) note({ act: 'entry.adjust', ...change })
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

async function claimId(
  { client, ledger, clock }: { client: ClientBase; ledger: PostingLedger; clock: Clock },
  order: Adjustment,
  asset: Asset,
  key: string | undefined,
): Promise<string> {
  const newId = uuidv7(clock.now().getTime())
  const id = await claimEntryId(client, ledger, order, asset, { id: newId, key })
  if (id === undefined) throw new Fault('idempotency_key_reused')
  return id
}

/**
 * Posts an adjustment proposed by another person, or declines it. The proposer may only decline.
 * @throws Fault `not_found`, `second_person_required`, `not_booked`
 */
export const decideAdjustment = (
  { pool, ledger }: FinanceDeps,
  by: Staff,
  id: string,
  decision: 'confirm' | 'decline',
  reason: string,
): Promise<SubmittedAdjustment> =>
  withAudit(pool, by, reason, async (client, note) => {
    const found = await findProposal(client, id)
    if (!found) throw new Fault('not_found', 'There is no such proposal.')
    const state = decision === 'confirm' ? 'booked' : 'declined'
    if (found.state === state) return { id, state }
    if (found.state !== 'proposed') {
      const decided = found.state === 'booked' ? 'posted' : found.state
      throw new Fault('not_booked', `The proposal was already ${decided}.`)
    }
    if (decision === 'confirm') {
      if (await isSamePerson(client, by.principal, found.proposer)) {
        throw new Fault('second_person_required')
      }
      const poster = ledgerInTransaction(ledger, client)
      const author = `${found.proposedBy}, confirmed by ${by.name}`
      const attribution = { author, reason: found.reason }
      const order = toAdjustment(found)
      isNewEntry(await withFaults(() => adjust(client, poster, order, attribution, { id })))
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

/** Treats an email account and the wallets linked to it as one person. */
async function isSamePerson(client: ClientBase, a: string, b: string): Promise<boolean> {
  const { rows } = await client.query<{ persons: number }>(
    `SELECT count(DISTINCT coalesce(l.person, p.id))::integer AS persons
     FROM hub.principal p LEFT JOIN hub.wallet_link l ON l.wallet = p.id WHERE p.id IN ($1, $2)`,
    [a, b],
  )
  return rows[0]!.persons < 2
}

const toAdjustment = ({ debit, credit, amount, shard, valueDate }: Proposal): Adjustment => ({
  debit,
  credit,
  amount,
  shard: shard ?? undefined,
  valueDate: valueDate ?? undefined,
})

async function findProposal(client: ClientBase, id: string): Promise<Proposal | undefined> {
  const { rows } = await client.query<Proposal>(`${PROPOSAL_SELECT} WHERE id = $1`, [id])
  return rows[0]
}

const REFUSALS: Readonly<Partial<Record<LedgerOutcome, string>>> = {
  insufficient_funds: 'An account has an insufficient balance.',
  no_such_hold: 'The call was not charged.',
  above_hold: 'The refund exceeds the amount charged.',
  id_reused_with_other_terms: 'A different entry exists for this idempotency key or call.',
}

/** Returns true if the entry is new, false if posted before. @throws Fault `not_booked` */
export function isNewEntry(outcome: LedgerOutcome): boolean {
  if (outcome === 'applied') return true
  if (outcome === 'replayed') return false
  throw new Fault('not_booked', REFUSALS[outcome])
}

/** Converts rejections by the ledger's rules. @throws Fault `not_booked` */
export async function withFaults<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const { code, message } = error as { code?: unknown; message: string }
    const isRule = error instanceof NotPostable || /^(?:23514|AH001)$/.test(String(code))
    if (!isRule) throw error
    throw new Fault('not_booked', `${message[0]!.toUpperCase()}${message.slice(1)}.`, {
      cause: error,
    })
  }
}
