import type { Pool } from 'pg'
import type { SealingKeys } from '../../crypto/sealing.ts'
import type { Egress } from '../../egress/http.ts'
import type { Log } from '../../log.ts'
import type { Micros } from '../../money.ts'
import type { Injected, Upstream, UpstreamEndpoint, Upstreams } from '../../plugin/upstreams.ts'
import { noteHealth, takeDue } from './health.ts'
import { CURRENT } from './prices.ts'
import { opened, reseal } from './secrets.ts'
import { retireDue } from './states.ts'

const PAGE = 50
const KEPT_MAX = 1_000

interface LendingPorts {
  readonly pool: Pool
  readonly keys: SealingKeys
  /** The guarded way out. */
  readonly http: Pick<Egress, 'request'>
  /** The way to hosts of the operator's own. */
  readonly backends: Pick<Egress, 'request'>
  /** Origins that lead there: none where money is real. */
  readonly localOrigins: readonly string[]
  readonly log: Log
}

/** An upstream as one JSON text; what is the same text is the same upstream. */
const TEXT = `json_build_object('slug', u.slug, 'name', u.name, 'category', u.category,
  'summary', u.summary, 'provider', u.provider, 'freeCallsPerMonth', u.free_calls_per_month,
  'since', u.deprecated_on, 'sunset', u.sunset_on, 'baseUrl', u.base_url,
  'healthPath', u.health_path,
  'requestHeaders', u.request_headers, 'responseHeaders', u.response_headers,
  'sealed', (SELECT coalesce(json_agg(json_build_object('place', s.place, 'name', s.name,
      'keyId', s.key_id, 'sealed', encode(s.sealed, 'base64')) ORDER BY s.place, s.name), '[]')
    FROM hub.upstream_secret s WHERE s.service = u.slug),
  'endpoints', (SELECT coalesce(json_agg(json_build_object('method', e.method, 'path', e.path,
      'upstreamPath', e.upstream_path, 'summary', e.summary, 'price', c.amount::text,
      'input', e.input, 'output', e.output, 'query', e.query, 'body', e.body,
      'success', e.success, 'passes', e.passes, 'deadlineSeconds', e.deadline_seconds,
      'maxBytes', e.max_bytes, 'streams', e.streams, 'idempotent', e.idempotent,
      'retries', e.retries) ORDER BY e.position), '[]')
    FROM hub.upstream_endpoint e JOIN LATERAL (${CURRENT}) c ON true
    WHERE e.service = u.slug AND e.listed))::text AS text`

const SOLD = `u.state = 'active' AND (u.sunset_on IS NULL
  OR u.sunset_on >= (now() AT TIME ZONE 'UTC')::date)`

type Written = Omit<Upstream, 'injected' | 'way' | 'deprecated' | 'endpoints'> & {
  readonly since: string | null
  readonly sunset: string | null
  readonly healthPath: string
  readonly sealed: readonly (Omit<Injected, 'value'> & { keyId: string; sealed: string })[]
  readonly endpoints: readonly (Omit<UpstreamEndpoint, 'price'> & { readonly price: string })[]
}

/** What the plugin of upstreams is lent: those that are on sale, with their secrets. */
export function upstreamsOn(ports: LendingPorts): Upstreams {
  const { pool, keys, log } = ports
  const kept = new Map<string, { readonly text: string; readonly upstream: Upstream | undefined }>()
  /** Undefined: a secret of it cannot be read. That is told once. */
  const read = (slug: string, text: string): Upstream | undefined => {
    const before = kept.get(slug)
    kept.delete(slug)
    const known = before?.text === text ? before : { text, upstream: upstreamOf(ports, text) }
    kept.set(slug, known) // what was asked for last is forgotten last
    const [oldest] = kept.keys()
    if (kept.size > KEPT_MAX && oldest !== undefined) kept.delete(oldest)
    return known.upstream
  }
  const one = async (slug: string, state: string): Promise<Upstream | undefined> => {
    const { rows } = await pool.query<{ text: string }>(
      `SELECT ${TEXT} FROM hub.upstream u WHERE u.slug = $1 AND ${state}`,
      [slug],
    )
    const upstream = rows[0] && read(slug, rows[0].text)
    return upstream && upstream.endpoints.length > 0 ? upstream : undefined
  }
  return {
    find: (slug) => one(slug, SOLD),
    preview: (slug) => one(slug, `u.state <> 'retired'`),
    async list(after) {
      for (let last: string | undefined = after; last !== undefined; ) {
        const { rows }: { rows: { slug: string; text: string }[] } = await pool.query(
          `SELECT u.slug, ${TEXT} FROM hub.upstream u WHERE ${SOLD} AND u.slug > $1
           ORDER BY u.slug LIMIT ${PAGE}`,
          [last],
        )
        const readable = rows.flatMap(({ slug, text }) => read(slug, text) ?? [])
        if (readable.length > 0) return readable
        last = rows.at(-1)?.slug // an empty page would be the end
      }
      return []
    },
    async due() {
      const slugs = await takeDue(pool)
      const { rows } = await pool.query<{ slug: string; base: string; path: string }>(
        `SELECT slug, base_url AS base, health_path AS path FROM hub.upstream
         WHERE slug = ANY ($1)`,
        [slugs],
      )
      return rows.map(({ slug, base, path }) => ({
        slug,
        url: `${base}${path}`,
        way: wayOf(ports, base),
      }))
    },
    noteHealth: (slug, health) => noteHealth(pool, slug, health),
    retireDue: () => retireDue(pool),
    reseal: async () => {
      const { count, unreadable } = await reseal(pool, keys)
      if (unreadable > 0) log.error({ unreadable }, 'secrets of upstreams that no key opens')
      return count
    },
  }
}

const wayOf = ({ http, backends, localOrigins }: LendingPorts, baseUrl: string) =>
  localOrigins.includes(new URL(baseUrl).origin) ? backends : http

function upstreamOf(ports: LendingPorts, text: string): Upstream | undefined {
  const { since, sunset, sealed, endpoints, ...rest }: Written = JSON.parse(text)
  const secrets = sealed.map(({ keyId, sealed: bytes, ...where }) => {
    const secret = { ...where, service: rest.slug, keyId, sealed: Buffer.from(bytes, 'base64') }
    return { ...where, value: opened(ports.keys, secret) }
  })
  const injected = secrets.filter(isReadable)
  const lost = secrets.find((each) => !isReadable(each))
  if (lost) {
    const { place, name } = lost
    ports.log.error({ service: rest.slug, place, name }, 'not sold: no key opens its secret')
    return undefined
  }
  return {
    ...rest,
    deprecated: since === null || sunset === null ? undefined : { since, sunset },
    endpoints: endpoints.map((each) => ({ ...each, price: BigInt(each.price) as Micros })),
    injected,
    way: wayOf(ports, rest.baseUrl),
  }
}

const isReadable = (secret: { readonly value: string | undefined }): secret is Injected =>
  secret.value !== undefined
