import { createHash } from 'node:crypto'
import type { Pool } from 'pg'
import type { Sample } from './relevance.ts'

const BATCH = 1_000
const SYLLABLES =
  'ba co di fe gu ha jo ki la mo ne pu ra si to ve wa xi yo zu lin mar ten sol'.split(' ')

/** Returns deterministic random numbers (mulberry32). */
function chance(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (state + 0x6d2b79f5) | 0
    let bits = Math.imul(state ^ (state >>> 15), 1 | state)
    bits = (bits + Math.imul(bits ^ (bits >>> 7), 61 | bits)) ^ bits
    return ((bits ^ (bits >>> 14)) >>> 0) % below
  }
}

/**
 * Inserts `count` active listings derived from the sample catalog: invented names, mixed words of
 * two services, prices, probe figures.
 */
export async function insertListings(
  admin: Pool,
  catalog: readonly Sample[],
  count: number,
): Promise<void> {
  const below = chance(402)
  for (let first = 0; first < count; first += BATCH) {
    const size = Math.min(BATCH, count - first)
    const rows = Array.from({ length: size }, (_, i) => listing(first + i, catalog, below))
    await admin.query(
      `INSERT INTO hub.listing SELECT * FROM jsonb_populate_recordset(NULL::hub.listing, $1)`,
      [JSON.stringify(rows)],
    )
  }
}

function listing(n: number, catalog: readonly Sample[], below: (n: number) => number) {
  const base = catalog[below(catalog.length)]!
  const other = catalog[below(catalog.length)]!
  const word = Array.from({ length: 3 }, () => SYLLABLES[below(SYLLABLES.length)]).join('')
  const host = `${word}${below(20_000)}.example.com`
  const price = 10 * (1 + below(20_000))
  const path = base.endpoints.split(' ')[1]
  const day = new Date(Date.UTC(2026, 0, 1 + below(300))).toISOString()
  const degraded = below(10) === 0
  const calls = below(4) === 0 ? below(500) : 0
  return {
    id: `ext_${String(n).padStart(22, '0')}`,
    url: `https://${host}${path}/${n}`,
    method: base.endpoints.split(' ')[0],
    origin: `https://${host}`,
    host,
    name: `${word[0]!.toUpperCase()}${word.slice(1)} ${below(3) === 0 ? base.tags[0] : base.name}`,
    description: `${base.summary} ${other.summary
      .split(' ')
      .slice(0, 4 + below(6))
      .join(' ')}`,
    category: base.category,
    tags: [...base.tags, other.tags[0]].slice(0, 2 + below(3)),
    provider: word,
    scheme: 'exact',
    network: 'eip155:8453',
    asset: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
    pay_to: `0x${createHash('sha256').update(host).digest('hex').slice(0, 40)}`,
    price,
    payable: true,
    offers: [{ network: below(10) === 0 ? 'eip155:137' : 'eip155:8453' }],
    state: degraded ? 'degraded' : 'active',
    reason: degraded ? 'slow' : null,
    rank: 2,
    first_seen_at: day,
    listed_at: day,
    last_verified_at: day,
    failures: 0,
    uptime: 80 + below(20),
    latency_p50_ms: 20 + below(3_000),
    calls,
    delivered: calls - below(Math.floor(calls / 10) + 1),
  }
}
