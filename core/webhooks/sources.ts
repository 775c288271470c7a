import type { PoolClient } from 'pg'
import type { Subscriber } from '../ledger/outbox/subscriber.ts'
import { json } from '../money.ts'
import type { LowBalance } from '../usage/low-balance.ts'
import { emit } from './events.ts'

/** Emits `balance.low` in the transaction that detected the fall. */
export async function emitLowBalance(client: PoolClient, fall: LowBalance): Promise<void> {
  const { rows } = await client.query<{ id: string; principal: string }>(
    `SELECT id, principal FROM hub.api_key WHERE id = split_part($1, ':', 3)`,
    [fall.account],
  )
  for (const { id, principal } of rows) {
    await emit(client, principal, 'balance.low', {
      key_id: id,
      balance_microdollars: json(fall.balance),
      threshold_microdollars: json(fall.threshold),
    })
  }
}

/**
 * Entries of a page that return money to the credits of a key: 3 released, 4 expired, 20 payment
 * that the seller never settled, 29 reversed. The last two have the id of their call.
 */
const FIND_REFUNDS = `
  SELECT j.id, j.kind, split_part(a.code, ':', 3) AS key,
    coalesce(c.endpoint, j.endpoint) AS endpoint,
    l.amount::text
  FROM ledger.journal j
  JOIN ledger.account a ON a.id = j.owner AND j.asset = 1
  LEFT JOIN ledger.journal c ON j.kind IN (20, 29) AND c.shard = $1 AND c.owner = j.owner
    AND c.id = j.id AND c.phase = 2
  CROSS JOIN LATERAL (SELECT sum(amount)::bigint AS amount
    FROM ledger.legs(ROW(j.*)::ledger.journal) WHERE account = j.owner) l
  WHERE j.shard = $1 AND j.seq BETWEEN $2 AND $3 AND j.kind IN (3, 4, 20, 29) AND l.amount > 0
  ORDER BY j.seq`

/** Emits `call.refunded` for rows of `FIND_REFUNDS`. */
const EMIT_REFUNDS = `
  SELECT hub.emit(k.principal, 'call.refunded', jsonb_build_object('call_id', j.id, 'key_id', k.id,
      'service', e.service, 'endpoint', e.method || ' ' || e.path,
      'amount_microdollars', j.amount,
      'reason', CASE j.kind WHEN 3 THEN 'failed' WHEN 4 THEN 'expired' WHEN 20 THEN 'never_taken'
        ELSE 'reversed' END))
  FROM ROWS FROM (json_to_recordset($1) AS (id uuid, kind smallint, key text, endpoint integer,
    amount bigint)) WITH ORDINALITY j(id, kind, key, endpoint, amount, n)
  JOIN hub.api_key k ON k.id = j.key
  LEFT JOIN hub.endpoint e ON e.id = j.endpoint ORDER BY j.n`

/**
 * True if a page has entries of `ledger.debt_change`. Nearly none has, and a plan of that view that
 * was made for a young journal reads all of it for each page.
 */
const HAS_DEBTS = `
  SELECT EXISTS (SELECT 1 FROM ledger.journal j WHERE j.shard = $1 AND j.seq BETWEEN $2 AND $3
    AND j.kind IN (29, 38, 39, 40, 43)) AS found`

/** Changes of a page that raise the debt of a provider, with its debt. */
const FIND_DEBTS = `
  SELECT d.provider, d.id, d.amount::text FROM ledger.debt_change d
  WHERE d.shard = $1 AND d.seq BETWEEN $2 AND $3 AND d.amount > 0 ORDER BY d.seq`

const SUM_DEBTS = `
  SELECT d.provider, sum(d.amount)::text AS debt FROM ledger.debt_change d
  WHERE d.provider = ANY ($1) GROUP BY d.provider`

/** Emits `earnings.owed` to the owners of providers whose debt rose by an entry. */
const EMIT_DEBTS = `
  SELECT hub.emit(p.owner, 'earnings.owed', jsonb_build_object('provider_id', p.id,
      'entry_id', d.id, 'amount_microdollars', d.amount, 'debt_microdollars', d.debt))
  FROM ROWS FROM (json_to_recordset($1) AS (provider text, id uuid, amount bigint, debt bigint))
    WITH ORDINALITY d(provider, id, amount, debt, n)
  JOIN hub.provider p ON p.id = d.provider AND p.owner IS NOT NULL ORDER BY d.n`

async function emitRefunds(client: PoolClient, page: readonly unknown[]): Promise<void> {
  const find = { name: 'webhook-refunds.find', text: FIND_REFUNDS, values: [...page] }
  const { rows } = await client.query(find)
  if (rows.length > 0) await client.query(EMIT_REFUNDS, [JSON.stringify(rows)])
}

async function emitDebts(client: PoolClient, page: readonly unknown[]): Promise<void> {
  const has = { name: 'webhook-refunds.debts', text: HAS_DEBTS, values: [...page] }
  const { rows: pages } = await client.query<{ found: boolean }>(has)
  if (!pages[0]!.found) return
  const { rows } = await client.query<{ provider: string }>(FIND_DEBTS, [...page])
  if (rows.length === 0) return
  const { rows: sums } = await client.query<{ provider: string; debt: string }>(SUM_DEBTS, [
    rows.map(({ provider }) => provider),
  ])
  const debts = new Map(sums.map(({ provider, debt }) => [provider, debt]))
  const found = rows.map((row) => ({ ...row, debt: debts.get(row.provider) ?? '0' }))
  await client.query(EMIT_DEBTS, [JSON.stringify(found)])
}

/** Emits `call.refunded` and `earnings.owed`; has no tables. */
export const refundSubscriber: Subscriber = {
  name: 'webhook-refunds',
  tables: [],
  async handle(client, { shard, from, to, replay }) {
    if (replay) return
    await emitRefunds(client, [shard, from, to])
    await emitDebts(client, [shard, from, to])
  },
}
