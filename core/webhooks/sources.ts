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
 * Emits `call.refunded` for entry kinds that return money to the credits of a key: 3 released,
 * 4 expired, 20 payment that the seller never settled, 29 reversed. The last two have the id of
 * their call.
 */
const EMIT_REFUNDS = `
  SELECT hub.emit(k.principal, 'call.refunded', jsonb_build_object('call_id', j.id, 'key_id', k.id,
      'service', e.service, 'endpoint', e.method || ' ' || e.path,
      'amount_microdollars', l.amount,
      'reason', CASE j.kind WHEN 3 THEN 'failed' WHEN 4 THEN 'expired' WHEN 20 THEN 'never_taken'
        ELSE 'reversed' END))
  FROM ledger.journal j
  JOIN ledger.account a ON a.id = j.owner AND j.asset = 1
  JOIN hub.api_key k ON k.id = split_part(a.code, ':', 3)
  LEFT JOIN ledger.journal c ON j.kind IN (20, 29) AND c.owner = j.owner AND c.id = j.id
    AND c.phase = 2
  LEFT JOIN hub.endpoint e ON e.id = coalesce(c.endpoint, j.endpoint)
  CROSS JOIN LATERAL (SELECT sum(amount)::bigint AS amount FROM ledger.legs(j)
    WHERE account = j.owner) l
  WHERE j.shard = $1 AND j.seq BETWEEN $2 AND $3 AND j.kind IN (3, 4, 20, 29) AND l.amount > 0
  ORDER BY j.seq`

/** Emits `earnings.owed` to the owners of providers whose debt rose by an entry. */
const EMIT_DEBTS = `
  SELECT hub.emit(p.owner, 'earnings.owed', jsonb_build_object('provider_id', p.id,
      'entry_id', d.id, 'amount_microdollars', d.amount,
      'debt_microdollars', (SELECT sum(o.amount)::bigint FROM ledger.debt_change o
        WHERE o.provider = p.id)))
  FROM ledger.debt_change d JOIN hub.provider p ON p.id = d.provider AND p.owner IS NOT NULL
  WHERE d.shard = $1 AND d.seq BETWEEN $2 AND $3 AND d.amount > 0 ORDER BY d.seq`

/** Emits `call.refunded` and `earnings.owed`; has no tables. */
export const refundSubscriber: Subscriber = {
  name: 'webhook-refunds',
  tables: [],
  async handle(client, { shard, from, to, replay }) {
    if (replay) return
    const values = [shard, from, to]
    await client.query({ name: 'webhook-refunds.tell', text: EMIT_REFUNDS, values })
    await client.query({ name: 'webhook-refunds.debts', text: EMIT_DEBTS, values })
  },
}
