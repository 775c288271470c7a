import { expect } from 'chai'
import { USDC_BASE } from '../../../../core/payments/chain/asset.ts'
import { pruneTransactions } from '../../../../core/payments/facilitators/stored-outbox.ts'
import { type FreshDatabase, freshDatabase } from '../../../support/postgres.ts'

const POLYGON = 137
const SENDER = `0x${'5'.repeat(40)}`
const hashOf = (nonce: number): string => `0x${String(nonce).padStart(64, '0')}`

describe('stored transactions', () => {
  let database: FreshDatabase
  before(async () => {
    database = await freshDatabase()
  })
  after(() => database.drop())

  const store = async (chainId: number, nonce: number, hours: number) => {
    await database.admin.query(
      `INSERT INTO hub.sent_transaction (chain_id, sender, hash, nonce, raw, kept_at)
       VALUES ($1, $2, $3, $4, '\\x00', now() - make_interval(hours => $5))`,
      [chainId, SENDER, hashOf(nonce), nonce, hours],
    )
    await database.admin.query(
      'INSERT INTO hub.sent_payment (payment, hash) VALUES (sha256($1), $2)',
      [Buffer.from(String(nonce)), hashOf(nonce)],
    )
  }
  const stored = async (): Promise<string[]> => {
    const { rows } = await database.admin.query<{ hash: string }>(
      'SELECT hash FROM hub.sent_transaction JOIN hub.sent_payment USING (hash) ORDER BY nonce',
    )
    return rows.map(({ hash }) => hash)
  }

  it('are deleted after a day, except on Base, where their gas must be posted first', async () => {
    await store(POLYGON, 1, 25)
    await store(POLYGON, 2, 23)
    await store(USDC_BASE.chainId, 3, 25)
    await pruneTransactions(database.pool)
    expect(await stored()).to.deep.equal([2, 3].map(hashOf))
  })
})
