import { expect } from 'chai'
import * as fc from 'fast-check'
import { type CallPosition, listCalls } from '../../../core/usage/call-list.ts'
import { type FreshDatabase, freshDatabase } from '../../support/postgres.ts'

const PRINCIPAL = 'prn_0000000000000001'
const WALLET = `0x${'ab'.repeat(20)}`
const keyId = (key: number) => `key_${String(key).padStart(16, '0')}`

/** Calls of four keys and a wallet (0) by second, so that many share their time. */
const payers = fc.array(
  fc.record({ payer: fc.nat(4), second: fc.nat(6), isCharged: fc.boolean() }),
  { maxLength: 60 },
)
/** A filter, and the calls that it looks at for a page. */
const filter = fc.option(fc.integer({ min: 1, max: 20 }))

describe('the list of calls', () => {
  let database: FreshDatabase
  before(async () => {
    database = await freshDatabase()
    await database.admin.query(
      `WITH one AS (INSERT INTO hub.principal (id, shard) VALUES ($3, 0))
       INSERT INTO hub.api_key (id, principal, parent, depth, credits)
       SELECT k, $3, NULLIF($1, k), (k <> $1)::integer, 1 FROM unnest($2::text[]) k`,
      [keyId(1), [1, 2, 3, 4].map(keyId), PRINCIPAL],
    )
  })
  after(() => database.drop())

  it('leads through all calls of a filter, newest first, also of one time', async () => {
    const size = fc.integer({ min: 1, max: 9 })
    await fc.assert(
      fc.asyncProperty(payers, size, filter, async (calls, limit, searchedMax) => {
        await database.admin.query('DELETE FROM hub.call')
        await database.admin.query(INSERT, [
          calls.map(({ payer }) => (payer === 0 ? null : keyId(payer))),
          calls.map(({ second }) => second),
          `x402:${WALLET}`,
          PRINCIPAL,
          calls.map(({ isCharged }) => (isCharged ? 1 : 0)),
        ])
        const found: string[] = []
        let after: CallPosition | undefined
        for (let pages = 0; pages <= 2 * calls.length; pages++) {
          const { rows, searchedTo } = await listCalls(database.pool, [PRINCIPAL], {
            limit,
            after,
            wallets: [WALLET],
            ...(searchedMax !== null && { isCharged: true, searchedMax }),
          })
          found.push(...rows.map(({ id }) => id))
          const last = rows.length === limit ? rows.at(-1)! : undefined
          if (!last && !searchedTo) break
          after = last ? [last.at.toISOString(), last.id] : searchedTo!
        }
        const { rows } = await database.admin.query<{ id: string }>(
          'SELECT id FROM hub.call WHERE charged > 0 OR NOT $1 ORDER BY at DESC, id DESC',
          [searchedMax !== null],
        )
        expect(found).to.deep.equal(rows.map(({ id }) => id))
      }),
      { numRuns: 80 },
    )
  })
})

const INSERT = `INSERT INTO hub.call (id, at, request_id, principal, key_id, service, endpoint,
    price_version, source, charged, outcome, status, latency_ms)
  SELECT gen_random_uuid(), to_timestamp(s), 'one',
    CASE WHEN k IS NULL THEN $3 ELSE $4 END, k, 'tides', 1, 1,
    CASE c WHEN 0 THEN 'none' ELSE 'credits' END, c, 'delivered', 200, 1
  FROM unnest($1::text[], $2::integer[], $5::bigint[]) u(k, s, c)`
