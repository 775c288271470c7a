import { LRUCache } from 'lru-cache'
import type { Pool } from 'pg'
import type { SealingKeys } from '../../crypto/sealing.ts'
import type { Egress } from '../../egress/http.ts'
import type { Log } from '../../log.ts'
import type { Micros } from '../../money.ts'
import type { Injected, Upstream, UpstreamEndpoint, Upstreams } from '../../plugin/upstreams.ts'
import { claimDueChecks, recordHealth } from './health.ts'
import { retireDue } from './lifecycle.ts'
import { CURRENT_PRICE } from './prices.ts'
import { openSecret, resealSecrets } from './secrets.ts'

const PAGE_SIZE = 50
const CACHE_MAX = 1_000

interface InjectionDeps {
  readonly pool: Pool
  readonly keys: SealingKeys
  /** Guarded egress. */
  readonly http: Pick<Egress, 'request'>
  /** Egress to the operator's own hosts. */
  readonly backends: Pick<Egress, 'request'>
  /** Origins reached by `backends`; none in production. */
  readonly localOrigins: readonly string[]
  readonly log: Log
}

/** SQL for an upstream as one JSON text; equal texts mean an unchanged upstream. */
const UPSTREAM_JSON = `json_build_object('slug', u.slug, 'name', u.name, 'category', u.category,
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
    FROM hub.upstream_endpoint e JOIN LATERAL (${CURRENT_PRICE}) c ON true
    WHERE e.service = u.slug AND e.listed))::text AS text`

const IS_ON_SALE = `u.state = 'active' AND (u.sunset_on IS NULL
  OR u.sunset_on >= (now() AT TIME ZONE 'UTC')::date)`

type UpstreamRow = Omit<Upstream, 'injected' | 'way' | 'deprecated' | 'endpoints'> & {
  readonly since: string | null
  readonly sunset: string | null
  readonly healthPath: string
  readonly sealed: readonly (Omit<Injected, 'value'> & { keyId: string; sealed: string })[]
  readonly endpoints: readonly (Omit<UpstreamEndpoint, 'price'> & { readonly price: string })[]
}

/** Creates the capability injected into the upstream plugin: upstreams on sale, with secrets. */
export function injectedUpstreams(deps: InjectionDeps): Upstreams {
  const { pool, keys, log } = deps
  const cache = new LRUCache<string, { text: string; upstream: Upstream | undefined }>({
    max: CACHE_MAX,
  })
  /** Returns undefined if a secret cannot be decrypted; logs that once, because it is cached. */
  const read = (slug: string, text: string): Upstream | undefined => {
    const cached = cache.get(slug)
    if (cached?.text === text) return cached.upstream
    const upstream = parseUpstream(deps, text)
    cache.set(slug, { text, upstream })
    return upstream
  }
  const one = async (slug: string, state: string): Promise<Upstream | undefined> => {
    const { rows } = await pool.query<{ text: string }>(
      `SELECT ${UPSTREAM_JSON} FROM hub.upstream u WHERE u.slug = $1 AND ${state}`,
      [slug],
    )
    const upstream = rows[0] && read(slug, rows[0].text)
    return upstream && upstream.endpoints.length > 0 ? upstream : undefined
  }
  return {
    find: (slug) => one(slug, IS_ON_SALE),
    preview: (slug) => one(slug, `u.state <> 'retired'`),
    async list(after) {
      for (let last: string | undefined = after; last !== undefined; ) {
        const { rows }: { rows: { slug: string; text: string }[] } = await pool.query(
          `SELECT u.slug, ${UPSTREAM_JSON} FROM hub.upstream u WHERE ${IS_ON_SALE} AND u.slug > $1
           ORDER BY u.slug LIMIT ${PAGE_SIZE}`,
          [last],
        )
        const readable = rows.flatMap(({ slug, text }) => read(slug, text) ?? [])
        if (readable.length > 0) return readable
        last = rows.at(-1)?.slug // an empty page would mean the end
      }
      return []
    },
    async due() {
      const slugs = await claimDueChecks(pool)
      const { rows } = await pool.query<{ slug: string; base: string; path: string }>(
        `SELECT slug, base_url AS base, health_path AS path FROM hub.upstream
         WHERE slug = ANY ($1)`,
        [slugs],
      )
      return rows.map(({ slug, base, path }) => ({
        slug,
        url: `${base}${path}`,
        way: egressFor(deps, base),
      }))
    },
    noteHealth: (slug, health) => recordHealth(pool, slug, health),
    retireDue: () => retireDue(pool),
    reseal: async () => {
      const { count, unreadable } = await resealSecrets(pool, keys)
      if (unreadable > 0)
        log.error({ unreadable }, 'upstream secrets cannot be decrypted with any key')
      return count
    },
  }
}

const egressFor = ({ http, backends, localOrigins }: InjectionDeps, baseUrl: string) =>
  localOrigins.includes(new URL(baseUrl).origin) ? backends : http

function parseUpstream(deps: InjectionDeps, text: string): Upstream | undefined {
  const { since, sunset, sealed, endpoints, ...rest }: UpstreamRow = JSON.parse(text)
  const secrets = sealed.map(({ keyId, sealed: bytes, ...where }) => {
    const secret = { ...where, service: rest.slug, keyId, sealed: Buffer.from(bytes, 'base64') }
    return { ...where, value: openSecret(deps.keys, secret) }
  })
  const injected = secrets.filter(isReadable)
  const unreadable = secrets.find((each) => !isReadable(each))
  if (unreadable) {
    const { place, name } = unreadable
    const fields = { service: rest.slug, place, name }
    deps.log.error(fields, 'service not sold: no key decrypts its secret')
    return undefined
  }
  return {
    ...rest,
    deprecated: since === null || sunset === null ? undefined : { since, sunset },
    endpoints: endpoints.map((each) => ({ ...each, price: BigInt(each.price) as Micros })),
    injected,
    way: egressFor(deps, rest.baseUrl),
  }
}

const isReadable = (secret: { readonly value: string | undefined }): secret is Injected =>
  secret.value !== undefined
