import type { Pool } from 'pg'
import type { Asset, LedgerOutcome } from './events.ts'
import type { Ledger } from './ledger.ts'

const BATCH_HOLDS = 10_000

interface OpenHold {
  readonly seq: bigint
  readonly call: string
  readonly owner: bigint
  readonly code: string
  readonly asset: Asset
  /** True if the hold has expired and no payment of its call is open. */
  readonly due: boolean
}

/**
 * Releases expired holds: the safety net for every crash. Holds whose call has an open payment are
 * left to payment resolution. Starts at a cursor before which all holds are resolved, so that its
 * cost does not grow with the journal.
 * @returns the number of holds released
 */
export async function expireHolds(pool: Pool, ledger: Pick<Ledger, 'expire'>): Promise<number> {
  const { rows: shards } = await pool.query<{ shard: number; seq: bigint; from: bigint }>(
    `SELECT h.shard, h.seq, coalesce(c.seq, 0) AS from FROM ledger.head h
     LEFT JOIN hub.cursor c ON c.name = 'expire-holds' AND c.shard = h.shard`,
  )
  let expired = 0
  for (const { shard, seq, from } of shards) {
    const { rows: holds } = await pool.query<OpenHold>(
      `SELECT r.seq, r.id AS call, r.owner, a.code, s.code AS asset,
         r.expires_at <= now() AND NOT EXISTS (SELECT FROM hub.payment_intent i
           WHERE i.call = r.id AND i.state IN ('signed', 'unresolved', 'paid')) AS due
       FROM ledger.open_hold r
       JOIN ledger.account a ON a.id = r.owner
       JOIN ledger.asset s ON s.id = a.asset
       WHERE r.shard = $1 AND r.seq > $2 AND r.seq <= $3 ORDER BY r.seq LIMIT $4`,
      [shard, from, seq, BATCH_HOLDS],
    )
    const checked = await Promise.all(
      holds.map(async (hold) => ({
        seq: hold.seq,
        outcome: await expireIfDue(ledger, hold, shard),
      })),
    )
    expired += checked.filter(({ outcome }) => outcome === 'applied').length
    await storeCursor(pool, shard, nextCursor(checked, seq))
  }
  return expired
}

/** @returns undefined if the hold is not due */
async function expireIfDue(
  ledger: Pick<Ledger, 'expire'>,
  { call, owner, code, asset, due }: OpenHold,
  shard: number,
): Promise<LedgerOutcome | undefined> {
  if (!due) return undefined
  return (await ledger.expire({ call, owner: { id: owner, code, asset, shard } })).outcome
}

interface CheckedHold {
  readonly seq: bigint
  readonly outcome: LedgerOutcome | undefined
}

/** `no_such_hold` means that the database clock was set back and the hold has not expired yet. */
const isStillOpen = ({ outcome }: CheckedHold): boolean =>
  outcome === undefined || outcome === 'no_such_hold'

/** Returns the cursor just before the first hold that stays open. */
function nextCursor(holds: readonly CheckedHold[], head: bigint): bigint {
  const open = holds.find(isStillOpen)
  if (open) return open.seq - 1n
  return holds.length < BATCH_HOLDS ? head : holds.at(-1)!.seq
}

async function storeCursor(pool: Pool, shard: number, seq: bigint): Promise<void> {
  await pool.query(
    `INSERT INTO hub.cursor AS c VALUES ('expire-holds', $1, $2)
     ON CONFLICT (name, shard) DO UPDATE SET seq = greatest(c.seq, excluded.seq)`,
    [shard, seq],
  )
}
