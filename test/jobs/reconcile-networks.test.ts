import { expect } from 'chai'
import { Ledger } from '../../core/ledger/ledger.ts'
import { createLog } from '../../core/log.ts'
import { assetOf, type Hex } from '../../core/payments/chain/asset.ts'
import type { Chain } from '../../core/payments/chain/chain.ts'
import { reconcileNetworks } from '../../jobs/reconcile-chain.ts'
import { openAgent } from '../core/ledger/fixture.ts'
import { type FreshDatabase, freshDatabase } from '../support/postgres.ts'

const POLYGON = assetOf('eip155:137')
const TREASURY: Hex = `0x${'5'.repeat(40)}`
const HEAD = 50_000_000n

/** Long chain without transfers. */
const emptyChain = {
  head: async () => ({ number: HEAD, time: new Date() }),
  block: async () => ({ hash: `0x${'6'.repeat(64)}`, time: new Date() }),
  transfers: async () => [],
  balanceAt: async () => 0n,
} as unknown as Chain

describe('the reconciliation of a further network', () => {
  let database: FreshDatabase
  before(async () => void (database = await freshDatabase()))
  after(() => database.drop())

  it('starts when its accounts were opened, not at the first entry of the hub', async () => {
    const { pool, admin } = database
    const ledger = new Ledger(pool)
    await openAgent(ledger, 10n)
    await admin.query(
      `ALTER TABLE ledger.seal DISABLE TRIGGER USER;
       UPDATE ledger.seal SET at = now() - interval '300 days'`,
    )
    await ledger.open('assets:usdc:polygon:in-transit', 'USDC')
    const network = { asset: POLYGON, chain: emptyChain, finality: 1n, treasury: TREASURY }
    const networks = [{ ...network, facilitator: {} as never }]
    await reconcileNetworks({ pool, log: createLog('silent'), networks })
    const { rows } = await pool.query<{ first: bigint; last: bigint }>(
      `SELECT min(from_block) AS first, max(to_block) AS last FROM hub.reconciliation
       WHERE wallet = 'treasury:polygon'`,
    )
    expect(rows[0]!.last).to.equal(HEAD)
    expect(Number(HEAD - rows[0]!.first), 'blocks').to.be.within(9_990, 10_060)
  })
})
