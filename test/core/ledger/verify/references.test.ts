import { expect } from 'chai'
import { Ledger } from '../../../../core/ledger/ledger.ts'
import { verifyLedger } from '../../../../core/ledger/verify.ts'
import { micros } from '../../../../core/money.ts'
import { type FreshDatabase, freshDatabase } from '../../../support/postgres.ts'
import { newId, sampleLedger } from '../fixture.ts'
import { broken, tamper } from './tampering.ts'

const UNKNOWN = 987_654
const HASH = `0x${'ab'.repeat(32)}`
const WALLET = `0x${'cd'.repeat(20)}`
const PRINCIPAL = `prn_${'p'.repeat(16)}`
const KEY = `key_${'k'.repeat(16)}`
const ID = newId()
const ENTRY = newId()

const ACCOUNTS = 'every account that the hub refers to exists'
const SHARDS = 'every shard that the hub refers to exists'
const ENTRIES = 'every entry that the hub refers to exists'

const PAYOUT_PART = `INSERT INTO hub.payout_part
  (payout, account, shard, amount, entry, after_seq, upto_seq)`
const EXCEPTION = `INSERT INTO hub.reconciliation_exception (wallet, kind, fact, amount, reason,
  resolved_at, resolution, author, explanation, answer, answer_id)`
const WALLET_ENTRY = `INSERT INTO hub.wallet_entry
  (wallet, shard, seq, owner, entry, phase, event, amount, transit, at)`
const CLOSED = `'treasury', 'unknown_deposit', 'f', 1, 'r', now(), 'booked', 'a', 'e'`

/** Dangling references by referring column: the check, the statement, and the reported row. */
const PLANTED: Readonly<Record<string, readonly [check: string, sql: string, row: string]>> = {
  'api_key.credits': [
    ACCOUNTS,
    `INSERT INTO hub.api_key (id, principal, credits)
     VALUES ('${KEY}', '${PRINCIPAL}', ${UNKNOWN})`,
    `hub.api_key (id ${KEY}): ${UNKNOWN}`,
  ],
  'credit_watch.account': [
    ACCOUNTS,
    `INSERT INTO hub.credit_watch VALUES (${UNKNOWN}, 1)`,
    `hub.credit_watch (account ${UNKNOWN}): ${UNKNOWN}`,
  ],
  'earning.account': [
    ACCOUNTS,
    `INSERT INTO hub.earning VALUES (${UNKNOWN}, '2026-01-02', 1, 1, 0, 0)`,
    `hub.earning (account ${UNKNOWN}, day 2026-01-02): ${UNKNOWN}`,
  ],
  'low_balance.account': [
    ACCOUNTS,
    `INSERT INTO hub.low_balance VALUES (${UNKNOWN}, 0, 7, now(), 1, 2)`,
    `hub.low_balance (account ${UNKNOWN}, shard 0, seq 7): ${UNKNOWN}`,
  ],
  'low_balance_threshold.account': [
    ACCOUNTS,
    `INSERT INTO hub.low_balance_threshold VALUES (${UNKNOWN}, 1)`,
    `hub.low_balance_threshold (account ${UNKNOWN}): ${UNKNOWN}`,
  ],
  'open_hold.owner': [
    ACCOUNTS,
    `INSERT INTO hub.open_hold VALUES (0, 7, '${ID}', ${UNKNOWN}, now())`,
    `hub.open_hold (shard 0, seq 7): ${UNKNOWN}`,
  ],
  'payment_intent.owner': [
    ACCOUNTS,
    `INSERT INTO hub.payment_intent (call, owner, url, host, seller, network, asset, payer, payee,
       amount, nonce, valid_before, payload_hash, from_block)
     VALUES ('${ID}', ${UNKNOWN}, 'u', 'h', 's', 'n', 'a', 'p', 'p', 1, 'n', now(), 'h', 1)`,
    `hub.payment_intent (call ${ID}): ${UNKNOWN}`,
  ],
  'payout_part.account': [
    ACCOUNTS,
    `${PAYOUT_PART} VALUES ('${ID}', ${UNKNOWN}, 0, 1, '${ENTRY}', 0, 1)`,
    `hub.payout_part (payout ${ID}, account ${UNKNOWN}, shard 0): ${UNKNOWN}`,
  ],
  'reconciliation_exception.answer': [
    ACCOUNTS,
    `${EXCEPTION} VALUES (${CLOSED}, ${UNKNOWN}, '${ENTRY}')`,
    `hub.reconciliation_exception (id 1): ${UNKNOWN}`,
  ],
  'cursor.shard': [
    SHARDS,
    `INSERT INTO hub.cursor VALUES ('reader', 77, 0)`,
    'hub.cursor (name reader, shard 77): 77',
  ],
  'payout.shard': [
    SHARDS,
    `INSERT INTO hub.payout (id, provider, batch, attempt, amount, recovered, shard, payer, payee,
       nonce, valid_before, from_block)
     VALUES ('${ID}', 'p', '2026-01-02', 1, 1, 0, 77, '${WALLET}', '${WALLET}', '${HASH}',
       now(), 1)`,
    `hub.payout (id ${ID}): 77`,
  ],
  'principal.shard': [
    SHARDS,
    `INSERT INTO hub.principal (id, shard) VALUES ('${PRINCIPAL}', 77)`,
    `hub.principal (id ${PRINCIPAL}): 77`,
  ],
  'payout_part.entry': [
    ENTRIES,
    `${PAYOUT_PART} VALUES ('${ID}', 1, 0, 1, '${ENTRY}', 0, 1)`,
    `hub.payout_part (payout ${ID}, account 1, shard 0): 1 ${ENTRY} 0`,
  ],
  'reconciliation_exception.answer_id': [
    ENTRIES,
    `${EXCEPTION} VALUES (${CLOSED}, 1, '${ENTRY}')`,
    `hub.reconciliation_exception (id 1): 1 ${ENTRY} 0`,
  ],
  'wallet_entry.entry': [
    ENTRIES,
    `${WALLET_ENTRY} VALUES ('treasury', 0, 7, 1, '${ENTRY}', 2, 'e', 1, 0, now())`,
    `hub.wallet_entry (id 1): 1 ${ENTRY} 2`,
  ],
}

describe('the verification of references from the hub to the ledger', () => {
  let database: FreshDatabase

  beforeEach(async () => {
    database = await freshDatabase()
    await sampleLedger(database.pool)
  })
  afterEach(() => database.drop())

  for (const [column, [check, sql, row]] of Object.entries(PLANTED)) {
    it(`names the row whose ${column} has no target`, async () => {
      await tamper(database, sql)
      expect(broken(await verifyLedger(database.pool))[check]).to.equal(`${row} is missing`)
    })
  }

  it('accepts references whose targets exist, on every shard', async () => {
    await database.admin.query('SELECT ledger.open_shard(1::smallint)')
    const ledger = new Ledger(database.pool)
    const account = 'assets:usdc:base:treasury'
    const owner = { ...(await ledger.account(account)), shard: 1 }
    const event = { type: 'balance.opened', account, amount: micros(5n) } as const
    await ledger.post(event, { owner, id: newId() })
    const { rows } = await database.pool.query('SELECT DISTINCT shard FROM ledger.journal')
    expect(rows).to.have.length(2)
    await tamper(
      database,
      `${WALLET_ENTRY}
       SELECT 'treasury', shard, seq, owner, id, phase, 'e', 1, 0, at FROM ledger.journal`,
      'INSERT INTO hub.credit_watch SELECT id, 0 FROM ledger.account',
    )
    const { checks } = await verifyLedger(database.pool)
    const names = [ACCOUNTS, SHARDS, ENTRIES]
    expect(checks.filter(({ name }) => names.includes(name)).map(({ bad }) => bad)).to.deep.equal([
      0n,
      0n,
      0n,
    ])
  })

  it('counts every dangling reference of several batches', async () => {
    await tamper(
      database,
      `INSERT INTO hub.credit_watch SELECT ${UNKNOWN} + g, 0 FROM generate_series(1, 12000) g`,
    )
    const { checks } = await verifyLedger(database.pool)
    expect(checks.find(({ name }) => name === ACCOUNTS)?.bad).to.equal(12_000n)
  })
})
