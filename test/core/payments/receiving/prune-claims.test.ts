import { expect } from 'chai'
import { PRUNE_CLAIMS, pruneClaims } from '../../../../core/payments/receiving/prune-claims.ts'
import { type FreshDatabase, freshDatabase } from '../../../support/postgres.ts'

describe('expired claims', () => {
  let fresh: FreshDatabase
  before(async () => {
    fresh = await freshDatabase()
    await fresh.admin.query(
      `INSERT INTO hub.payment_claim (network, asset, payer, nonce, id, purpose, pay_to, payee,
         commission_bps, request_hash, amount, state, valid_before)
       SELECT 'eip155:8453', address, address, '0x' || lpad(to_hex(i), 64, '0'),
         gen_random_uuid(), 'credits', address, 'liabilities:agents:key_a:credits', 0, '', 1,
         CASE i % 1000 WHEN 0 THEN 'released' WHEN 1 THEN 'claimed' ELSE 'failed' END,
         now() - make_interval(hours => CASE WHEN i <= 10000 THEN 25 ELSE 23 END)
       FROM generate_series(1, 20000) i, concat('0x', repeat('a', 40)) address`,
    )
    await fresh.admin.query('ANALYZE hub.payment_claim')
  })
  after(() => fresh.drop())

  it('are found by an index of released ones', async () => {
    const { rows } = await fresh.admin.query<{ 'QUERY PLAN': string }>(`EXPLAIN ${PRUNE_CLAIMS}`)
    const plan = rows.map((row) => row['QUERY PLAN']).join('\n')
    expect(plan).to.include('payment_claim_released').and.not.include('Seq Scan')
  })

  it('are deleted a day later if they were released; others stay', async () => {
    await pruneClaims(fresh.pool)
    const { rows } = await fresh.admin.query(
      'SELECT state, count(*)::int FROM hub.payment_claim GROUP BY 1 ORDER BY 1',
    )
    expect(rows).to.deep.equal([
      { state: 'claimed', count: 20 },
      { state: 'failed', count: 19_960 },
      { state: 'released', count: 10 },
    ])
  })
})
