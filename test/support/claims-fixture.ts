import { randomBytes } from 'node:crypto'
import { systemClock } from '../../core/clock.ts'
import { ProcessLease } from '../../core/db/process-lease.ts'
import { Claims } from '../../core/payments/receiving/claims.ts'
import { type FreshDatabase, freshDatabase } from './postgres.ts'

export const hex = (bytes: number): string => `0x${randomBytes(bytes).toString('hex')}`
const [asset, payTo] = [hex(20), hex(20)]
export const NETWORK = 'eip155:8453'
/** Key of a signed payment. */
export const payment = () => ({ network: NETWORK, asset, payer: hex(20), nonce: hex(32) })

export const purchase = () =>
  ({
    purpose: 'credits',
    requestHash: Buffer.alloc(32),
    amount: 5_000_000n,
    payTo,
    payee: 'liabilities:agents:key_a:credits',
    commissionBps: 0,
    validBefore: new Date(Date.now() + 60_000),
  }) as const

/** Opens claims on a database of their own for all tests of a `describe`. */
export function useClaims() {
  const use = {} as { fresh: FreshDatabase; lease: ProcessLease; claims: Claims }
  before(async () => {
    use.fresh = await freshDatabase()
    use.lease = await ProcessLease.open(use.fresh.pool)
    use.claims = new Claims(use.fresh.pool, systemClock, use.lease)
  })
  after(async () => {
    await use.lease.close()
    await use.fresh.drop()
  })
  return use
}
