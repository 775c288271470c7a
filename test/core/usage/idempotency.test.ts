import { randomBytes } from 'node:crypto'
import { expect } from 'chai'
import { systemClock } from '../../../core/clock.ts'
import { ProcessLease } from '../../../core/db/process-lease.ts'
import { Ledger } from '../../../core/ledger/ledger.ts'
import { keyValues } from '../../../core/payments/receiving/claim.ts'
import { Claims } from '../../../core/payments/receiving/claims.ts'
import type { PaymentKey } from '../../../core/payments/receiving/payment.ts'
import { singleKey } from '../../../core/secret-keys/purpose-keys.ts'
import { Idempotency } from '../../../core/usage/idempotency.ts'
import { StoredResponses } from '../../../core/usage/stored-responses.ts'
import { type FreshDatabase, freshDatabase } from '../../support/postgres.ts'
import { newId, openAgent } from '../ledger/fixture.ts'

const hex = (bytes: number): string => `0x${randomBytes(bytes).toString('hex')}`

describe('a request whose last attempt is over', () => {
  let database: FreshDatabase
  let lease: ProcessLease
  let ledger: Ledger
  let claims: Claims
  before(async () => {
    database = await freshDatabase()
    const { pool } = database
    lease = await ProcessLease.open(pool)
    ledger = new Ledger(pool)
    claims = new Claims(pool, systemClock, lease)
  })
  after(async () => {
    await lease.close()
    await database.drop()
  })

  /** Claims a payment for an attempt that ends, and begins another one with a changed one. */
  async function repeatWith(change: Partial<PaymentKey>): Promise<string | undefined> {
    const { pool } = database
    const credits = await openAgent(ledger, 10n)
    const deps = { pool, ledger, lease }
    const idempotency = new Idempotency(deps, new StoredResponses(pool, singleKey(randomBytes(32))))
    const begin = (call: string, paid: PaymentKey) =>
      idempotency.begin({
        caller: { keyId: 'key_1', credits },
        key: 'once',
        inputs: 'the same',
        call,
        payersSince: () => [],
        payment: keyValues(paid),
        leaseSeconds: 60,
      })
    const payment = { network: 'eip155:8453', asset: hex(20), payer: hex(20), nonce: hex(32) }
    const first = newId()
    expect(await begin(first, payment)).to.deep.equal({ id: first })
    await claims.claim(payment, {
      purpose: 'call',
      call: first,
      requestHash: Buffer.alloc(32),
      amount: 5n,
      payTo: hex(20),
      payee: 'income:services:works',
      commissionBps: 0,
      validBefore: new Date(Date.now() + 60_000),
    })
    await pool.query("UPDATE hub.idempotent_call SET busy_until = now() - interval '1 s'")
    expect(await begin(newId(), { ...payment, ...change })).to.include({ isRetry: true })
    return (await claims.find(payment))?.state
  }

  it('keeps the payment that it carries again', async () => {
    expect(await repeatWith({})).to.equal('claimed')
  })

  for (const [what, change] of Object.entries({
    network: { network: 'eip155:137' },
    token: { asset: hex(20) },
    payer: { payer: hex(20) },
    number: { nonce: hex(32) },
  })) {
    it(`gives back a payment of another ${what} than the one that it carries`, async () => {
      expect(await repeatWith(change)).to.equal('released')
    })
  }
})
