import type { Pool } from 'pg'
import type { Ledger } from '../ledger/ledger.ts'
import { CallCharges } from './call-charges.ts'

const CURSOR = 'recover-calls'
const PAGE_MAX = 1_000

/** Time after which a process has recorded its charged calls, or is dead. */
const RECORDED_SECONDS = 120

/**
 * Records the charged calls whose process died before it did, and gives back the charge of those
 * whose response was lost. Repeats and concurrent runs do no harm.
 */
export async function recoverCalls(pool: Pool, ledger: Ledger): Promise<void> {
  const charges = new CallCharges(pool, ledger)
  const { rows: shards } = await pool.query<{ shard: number }>(
    `WITH new AS (INSERT INTO hub.cursor (name, shard, seq)
       SELECT $1, shard, seq FROM ledger.head ON CONFLICT DO NOTHING)
     SELECT shard FROM ledger.head ORDER BY shard`,
    [CURSOR],
  )
  for (const { shard } of shards) while (await recoverPage(pool, charges, shard));
}

/** @returns false if no charge is old enough */
async function recoverPage(pool: Pool, charges: CallCharges, shard: number): Promise<boolean> {
  const { rows } = await pool.query<{ seq: bigint; last: bigint | null }>(
    `SELECT c.seq, (SELECT max(j.seq) FROM ledger.journal j WHERE j.shard = c.shard
        AND j.seq > c.seq AND j.seq <= c.seq + $3
        AND j.at < now() - make_interval(secs => $4)) AS last
     FROM hub.cursor c WHERE c.name = $1 AND c.shard = $2`,
    [CURSOR, shard, PAGE_MAX, RECORDED_SECONDS],
  )
  const { seq, last } = rows[0]!
  if (last === null) return false
  await pool.query(RECORD_CALLS, [shard, seq, last])
  const { rows: lost } = await pool.query<{ call: string }>(FIND_LOST, [shard, seq, last])
  for (const { call } of lost) {
    const charge = await charges.find(call)
    if (charge) await charges.giveBack(call, charge)
  }
  await pool.query('UPDATE hub.cursor SET seq = $3 WHERE name = $1 AND shard = $2 AND seq < $3', [
    CURSOR,
    shard,
    last,
  ])
  return true
}

/**
 * Charged calls of a page without a record. A native call is lost if a repetition would get its
 * response, which is neither stored nor, without a record, delivered: see `signReceipt`. Stored
 * responses are deleted after a day, so older calls are not lost. Kind 2: settled; asset 3: a free
 * call.
 */
const UNRECORDED = `
  SELECT j.id, j.at, j.asset, j.amount, j.endpoint, j.price_version, a.code, p.status AS upstream,
    CASE WHEN EXISTS (SELECT FROM hub.kept_answer k WHERE k.id = j.id) THEN 'delivered'
      WHEN p.call IS NOT NULL THEN 'taken'
      WHEN j.at > now() - interval '20 hours' AND EXISTS (SELECT FROM hub.idempotent_call i
        WHERE i.id = j.id AND i.call = j.id OR i.call = j.id AND i.call <> i.id) THEN 'failed'
      ELSE 'delivered' END AS outcome
  FROM ledger.journal j JOIN ledger.account a ON a.id = j.owner
  LEFT JOIN hub.payment_intent p ON p.call = j.id
  WHERE j.shard = $1 AND j.seq > $2 AND j.seq <= $3 AND j.kind = 2 AND j.amount > 0
    AND NOT EXISTS (SELECT FROM hub.call c WHERE c.id = j.id)`

const RECORD_CALLS = `
  INSERT INTO hub.call (id, at, request_id, principal, key_id, service, endpoint, price_version,
    source, charged, outcome, status, latency_ms, reason, entry)
  SELECT u.id, u.at, 'recovered', coalesce(k.principal, split_part(u.code, ':', 3)), k.id,
    e.service, e.id, u.price_version,
    CASE WHEN u.outcome = 'failed' THEN 'none' WHEN u.asset = 3 THEN 'free' ELSE 'credits' END,
    CASE WHEN u.outcome = 'failed' OR u.asset = 3 THEN 0 ELSE u.amount END, u.outcome,
    CASE u.outcome WHEN 'delivered' THEN 200 WHEN 'taken' THEN coalesce(u.upstream, 502)
      ELSE 410 END, 0,
    CASE WHEN u.outcome <> 'delivered' THEN 'response_lost' END, u.id
  FROM (${UNRECORDED}) u
  JOIN hub.endpoint e ON e.id = u.endpoint
  LEFT JOIN hub.api_key k ON u.asset <> 3 AND k.id = split_part(u.code, ':', 3)
  ON CONFLICT (id) DO NOTHING`

/** Lost calls of a page whose charge was not given back. */
const FIND_LOST = `
  SELECT j.id AS call FROM ledger.journal j
  JOIN hub.call c ON c.id = j.id AND c.reason = 'response_lost' AND c.outcome = 'failed'
  WHERE j.shard = $1 AND j.seq > $2 AND j.seq <= $3 AND j.kind = 2 AND j.amount > 0
    AND NOT EXISTS (SELECT FROM ledger.journal r
      WHERE r.owner = j.owner AND r.id = j.id AND r.phase = 3)`
