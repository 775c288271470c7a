import type { Pool } from 'pg'
import type { Ledger } from '../ledger/ledger.ts'
import { readHeads } from '../ledger/shards.ts'
import type { Log } from '../log.ts'
import { CallCharges, RefundFailed } from './call-charges.ts'

const CURSOR = 'recover-calls'
const PAGE_MAX = 1_000

/** Age at which a process has recorded a charged call, or is dead. */
const RECORDED_SECONDS = 120

/**
 * Records charged calls whose process died before it recorded them, and refunds those whose
 * response was lost. Repeated and concurrent runs do no harm. A refund that the ledger refuses is
 * logged, for staff to decide; the others are made.
 */
export async function recoverCalls(pool: Pool, ledger: Ledger, log: Log): Promise<void> {
  const charges = new CallCharges(pool, ledger)
  const heads = await readHeads(pool)
  const shards = [...heads.keys()]
  await pool.query(
    `INSERT INTO hub.cursor (name, shard, seq)
     SELECT $1, h.shard, h.seq FROM unnest($2::smallint[], $3::bigint[]) h(shard, seq)
     ON CONFLICT DO NOTHING`,
    [CURSOR, shards, [...heads.values()]],
  )
  for (const shard of shards) while (await recoverPage(pool, charges, shard, log));
}

/** @returns false if no charge is old enough */
async function recoverPage(
  pool: Pool,
  charges: CallCharges,
  shard: number,
  log: Log,
): Promise<boolean> {
  const { rows: cursors } = await pool.query<{ seq: bigint }>(
    'SELECT seq FROM hub.cursor WHERE name = $1 AND shard = $2',
    [CURSOR, shard],
  )
  const { seq } = cursors[0]!
  const { rows } = await pool.query<{ last: bigint | null }>(
    `SELECT max(j.seq) AS last FROM ledger.journal j WHERE j.shard = $1
       AND j.seq > $2 AND j.seq <= $2 + $3::bigint AND j.at < now() - make_interval(secs => $4)`,
    [shard, seq, PAGE_MAX, RECORDED_SECONDS],
  )
  const last = rows[0]?.last ?? null
  if (last === null) return false
  const page = { shard, after: seq, last }
  const charged = await readCharged(pool, page)
  await recordMissing(pool, page, charged)
  for (const call of await findLost(pool, page, charged)) {
    await refundLost(charges, call, log)
  }
  await pool.query('UPDATE hub.cursor SET seq = $3 WHERE name = $1 AND shard = $2 AND seq < $3', [
    CURSOR,
    shard,
    last,
  ])
  return true
}

async function refundLost(charges: CallCharges, call: string, log: Log): Promise<void> {
  const charge = await charges.find(call)
  try {
    if (charge) await charges.refund(call, charge)
  } catch (error) {
    if (!(error instanceof RefundFailed)) throw error
    log.error({ err: error, call }, 'lost call not refunded')
  }
}

/** Entries of a shard whose number is above `after` and at most `last`. */
interface Page {
  readonly shard: number
  readonly after: bigint
  readonly last: bigint
}

/** Returns the ids of the charged calls of a page. Kind 2: settled. */
async function readCharged(pool: Pool, { shard, after, last }: Page): Promise<readonly string[]> {
  const { rows } = await pool.query<{ id: string }>(
    `SELECT j.id FROM ledger.journal j
     WHERE j.shard = $1 AND j.seq > $2 AND j.seq <= $3 AND j.kind = 2 AND j.amount > 0`,
    [shard, after, last],
  )
  return rows.map(({ id }) => id)
}

/** Records those of the calls that have no record. */
async function recordMissing(
  pool: Pool,
  { shard, after, last }: Page,
  calls: readonly string[],
): Promise<void> {
  const { rows: missing } = await pool.query<{ id: string }>(
    `SELECT u.id FROM unnest($1::uuid[]) u(id)
     WHERE NOT EXISTS (SELECT 1 FROM hub.call c WHERE c.id = u.id)`,
    [calls],
  )
  if (missing.length === 0) return
  const { rows } = await pool.query<{ charges: string }>(READ_CHARGES, [
    shard,
    after,
    last,
    missing.map(({ id }) => id),
  ])
  await pool.query(RECORD_CALLS, [rows[0]!.charges])
}

/** Returns those of the calls that were lost and not refunded yet. */
async function findLost(
  pool: Pool,
  { shard, after, last }: Page,
  calls: readonly string[],
): Promise<readonly string[]> {
  const { rows: lost } = await pool.query<{ id: string }>(
    `SELECT id FROM hub.call
     WHERE id = ANY ($1) AND reason = 'response_lost' AND outcome = 'failed'`,
    [calls],
  )
  if (lost.length === 0) return []
  const { rows: open } = await pool.query<{ id: string }>(
    `SELECT j.id FROM ledger.journal j
     WHERE j.shard = $1 AND j.seq > $2 AND j.seq <= $3 AND j.id = ANY ($4) AND j.kind = 2
       AND NOT EXISTS (SELECT 1
       FROM ledger.journal r
       WHERE r.shard = $1 AND r.owner = j.owner AND r.id = j.id AND r.phase = 3)`,
    [shard, after, last, lost.map(({ id }) => id)],
  )
  return open.map(({ id }) => id)
}

/** Reads charges as JSON. Kind 2: settled. */
const READ_CHARGES = `
  SELECT coalesce(json_agg(json_build_object('id', j.id, 'at', j.at, 'asset', j.asset,
    'amount', j.amount, 'endpoint', j.endpoint, 'price_version', j.price_version,
    'code', a.code)), '[]')::text AS charges
  FROM ledger.journal j JOIN ledger.account a ON a.id = j.owner
  WHERE j.shard = $1 AND j.seq > $2 AND j.seq <= $3 AND j.id = ANY ($4) AND j.kind = 2
    AND j.amount > 0`

/**
 * Records charges. A native call is lost if a repetition would get its response, which is neither
 * stored nor, without a record, delivered: see `signReceipt`. Stored responses are deleted after a
 * day, so older calls are not lost. Asset 3: a free call.
 */
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
  FROM (SELECT j.*, p.status AS upstream,
      CASE WHEN EXISTS (SELECT 1 FROM hub.kept_answer k WHERE k.id = j.id) THEN 'delivered'
        WHEN p.call IS NOT NULL THEN 'taken'
        WHEN j.at > now() - interval '20 hours' AND EXISTS (SELECT 1 FROM hub.idempotent_call i
          WHERE i.id = j.id AND i.call = j.id OR i.call = j.id AND i.call <> i.id) THEN 'failed'
        ELSE 'delivered' END AS outcome
    FROM json_to_recordset($1::json) j(id uuid, at timestamptz, asset smallint, amount bigint,
      endpoint integer, price_version integer, code text)
    LEFT JOIN hub.payment_intent p ON p.call = j.id) u
  JOIN hub.endpoint e ON e.id = u.endpoint
  LEFT JOIN hub.api_key k ON u.asset <> 3 AND k.id = split_part(u.code, ':', 3)
  ON CONFLICT (id) DO NOTHING`
