import { expect } from 'chai'
import { importPage } from '../../../../core/catalog/listings/discovery/import.ts'
import { normalizeRow } from '../../../../core/catalog/listings/discovery/normalize.ts'
import { openSource } from '../../../../core/catalog/listings/discovery/sources.ts'
import { recordProbe } from '../../../../core/catalog/listings/probe/record.ts'
import { postpone } from '../../../../core/catalog/listings/probe/turns.ts'
import { listingId, RANK } from '../../../../core/catalog/listings/store.ts'
import { useCatalog } from '../fixture.ts'
import { row } from '../rows.ts'

const LISTINGS = 40
const ROUNDS = 5
/** Probes at once; more would wait for connections. */
const LANES = 4

/** Another word for each number and round, so that every text has terms that no document had. */
const wordOf = (n: number, round: number): string =>
  `word${String.fromCharCode(97 + ((n * 7) % 26), 97 + ((n * 11 + round) % 26))}x${round}`

describe('writers of listings', () => {
  const fixture = useCatalog()

  const pageOf = (round: number) =>
    Array.from({ length: LISTINGS }, (_, n) => {
      const words = [n, n + 1, n + 2].map((each) => wordOf(each, round)).join(' ')
      const resource = `https://api.acme.com/${n}`
      const result = normalizeRow(row({ resource, description: `Sells ${words}.` }), {})
      if (!('candidate' in result)) throw new Error(result.reason)
      return { key: resource, raw: {}, result }
    })

  it('wait for each other, and none dies, whatever they write at once', async () => {
    const { pool } = fixture
    await openSource(pool, 'first')
    await openSource(pool, 'second')
    await importPage(pool, 'first', RANK.index, pageOf(0), {})
    const listings = pageOf(0).map(({ result: { candidate } }) => ({
      ...candidate,
      id: listingId(candidate.method, candidate.url),
      host: 'api.acme.com',
    }))
    const probe = ({ id, offers }: (typeof listings)[number], round: number, n: number) =>
      recordProbe(
        pool,
        id,
        {
          outcome: 'up',
          status: 402,
          latencyMs: 5,
          offers,
          description: { name: '', description: `Shows ${wordOf(LISTINGS - n, round)}.` },
        },
        0.5,
      )
    const probeLane = async (lane: number, round: number): Promise<void> => {
      for (const [n, listing] of listings.entries()) {
        if (n % LANES === lane) await probe(listing, round, n)
      }
    }
    for (let round = 1; round <= ROUNDS; round++) {
      const page = pageOf(round)
      const written = await Promise.allSettled([
        importPage(pool, 'first', RANK.index, page, {}),
        importPage(pool, 'second', RANK.index, page.toReversed(), {}),
        ...Array.from({ length: LANES }, (_, lane) => probeLane(lane, round)),
        postpone(pool, listings.toReversed()),
      ])
      const failures = written.flatMap((each) => (each.status === 'rejected' ? [each.reason] : []))
      expect(failures.map(String)).to.deep.equal([])
    }
  })
})
