import type { Pool, PoolClient } from 'pg'
import { inTransaction } from '../../core/db/transaction.ts'

/**
 * Naive ledger: one transaction per operation that updates the balance rows of agent, provider and
 * platform. Only a reference for the benchmark.
 */
export const NAIVE_SCHEMA = `
  CREATE SCHEMA naive;
  CREATE TABLE naive.account (
    id bigint PRIMARY KEY,
    available bigint NOT NULL DEFAULT 0 CHECK (available >= 0),
    held bigint NOT NULL DEFAULT 0 CHECK (held >= 0)) WITH (fillfactor = 70);
  CREATE TABLE naive.hold (
    id uuid PRIMARY KEY, account bigint NOT NULL REFERENCES naive.account,
    amount bigint NOT NULL CHECK (amount > 0), state smallint NOT NULL DEFAULT 0,
    expires_at timestamptz NOT NULL) WITH (fillfactor = 80);
  CREATE TABLE naive.entry (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, call uuid NOT NULL,
    account bigint NOT NULL REFERENCES naive.account, amount bigint NOT NULL);
  CREATE INDEX ON naive.entry (account, id);`

const PLATFORM = 1

const named = (name: string, text: string) => (client: PoolClient, values: readonly unknown[]) =>
  client.query({ name, text, values: [...values] })

const take = named(
  'take',
  `UPDATE naive.account SET available = available - $2, held = held + $2
   WHERE id = $1 AND available >= $2`,
)
const hold = named(
  'hold',
  `INSERT INTO naive.hold VALUES ($1, $2, $3, 0, now() + interval '1 min')`,
)
const close = named('close', 'UPDATE naive.hold SET state = 1 WHERE id = $1 AND state = 0')
const drop = named('drop', 'UPDATE naive.account SET held = held - $2 WHERE id = $1')
const credit = named('credit', 'UPDATE naive.account SET available = available + $2 WHERE id = $1')
const entries = named(
  'entries',
  'INSERT INTO naive.entry (call, account, amount) VALUES ($1, $2, $3), ($1, $4, $5), ($1, $6, $7)',
)

export interface NaiveCall {
  readonly id: string
  readonly agent: number
  readonly provider: number
  readonly amount: number
}

export const naiveReserve = (pool: Pool, call: NaiveCall): Promise<void> =>
  inTransaction(pool, async (client) => {
    const { rowCount } = await take(client, [call.agent, call.amount])
    if (rowCount !== 1) throw new Error('insufficient funds')
    await hold(client, [call.id, call.agent, call.amount])
  })

export const naiveSettle = (pool: Pool, call: NaiveCall): Promise<void> =>
  inTransaction(pool, async (client) => {
    const fee = Math.floor(call.amount / 10)
    const { rowCount } = await close(client, [call.id])
    if (rowCount !== 1) throw new Error('no such hold')
    await drop(client, [call.agent, call.amount])
    await credit(client, [call.provider, call.amount - fee])
    await credit(client, [PLATFORM, fee])
    const legs = [call.agent, -call.amount, call.provider, call.amount - fee, PLATFORM, fee]
    await entries(client, [call.id, ...legs])
  })
