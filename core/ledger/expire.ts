import type { Pool } from 'pg'
import type { Asset, Outcome } from './events.ts'
import type { Ledger } from './ledger.ts'

const BATCH = 10_000

interface OpenHold {
  readonly seq: bigint
  readonly call: string
  readonly owner: bigint
  readonly code: string
  readonly asset: Asset
  /** Its time is up, and no payment of its call is open. */
  readonly due: boolean
}

/**
 * Gives back holds that nobody resolved in time: the guarantee behind every crash. Holds whose
 * call has an open payment are left to those who resolve payments. Goes through the journal's
 * order from where all holds were resolved the last time, so that its cost does not grow.
 * @returns how many holds were given back
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
      [shard, from, seq, BATCH],
    )
    const looked = await Promise.all(
      holds.map(async (hold) => ({
        seq: hold.seq,
        outcome: await expireIfDue(ledger, hold, shard),
      })),
    )
    expired += looked.filter(({ outcome }) => outcome === 'applied').length
    await advance(pool, shard, nextCursor(looked, seq))
  }
  return expired
}

/** @returns undefined: its time is not up */
async function expireIfDue(
  ledger: Pick<Ledger, 'expire'>,
  { call, owner, code, asset, due }: OpenHold,
  shard: number,
): Promise<Outcome | undefined> {
  if (!due) return undefined
  return (await ledger.expire({ call, owner: { id: owner, code, asset, shard } })).outcome
}

interface Looked {
  readonly seq: bigint
  readonly outcome: Outcome | undefined
}

/** `no_such_hold`: the clock of the database was set back, and its time is not up after all. */
const staysOpen = ({ outcome }: Looked): boolean =>
  outcome === undefined || outcome === 'no_such_hold'

/** Everything up to the first hold that stays open is done with. */
function nextCursor(holds: readonly Looked[], head: bigint): bigint {
  const open = holds.find(staysOpen)
  if (open) return open.seq - 1n
  return holds.length < BATCH ? head : holds.at(-1)!.seq
}

async function advance(pool: Pool, shard: number, seq: bigint): Promise<void> {
  await pool.query(
    `INSERT INTO hub.cursor AS c VALUES ('expire-holds', $1, $2)
     ON CONFLICT (name, shard) DO UPDATE SET seq = greatest(c.seq, excluded.seq)`,
    [shard, seq],
  )
}
