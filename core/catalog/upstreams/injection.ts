import { LRUCache } from 'lru-cache'
import type { Pool } from 'pg'
import type { SealingKeys } from '../../crypto/sealing.ts'
import type { Egress } from '../../egress/http.ts'
import type { Log } from '../../log.ts'
import type { Micros } from '../../money.ts'
import type {
  AccessTokens,
  DueProbe,
  Upstream,
  UpstreamEndpoint,
  Upstreams,
} from '../../plugin/upstreams.ts'
import { claimDueChecks, recordHealth } from './health.ts'
import { retireDue } from './lifecycle.ts'
import { type ClientCredentials, OAuthTokens } from './oauth-tokens.ts'
import { CURRENT_PRICE } from './prices.ts'
import { openSecret, resealSecrets, type StoredSecret } from './secrets.ts'

const PAGE_SIZE = 50
const CACHE_MAX = 1_000
/** Maximum size of all cached upstreams, in characters of their JSON. */
const CACHE_CHARACTERS_MAX = 16_777_216
/** Longer samples are only on the page of a service: offers have room for a short one. */
const SAMPLE_BYTES_MAX = 1_000

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

/**
 * SQL for an upstream as one JSON text; equal texts mean an unchanged upstream. Its prices and the
 * values of its secrets are current.
 * @param content SQL of the version to sell
 */
const upstreamJson = (content: string): string =>
  `json_build_object('slug', u.slug, 'provider', u.provider,
  'freeCallsPerMonth', u.free_calls_per_month, 'since', u.deprecated_on, 'sunset', u.sunset_on,
  'content', c.content - 'endpoints' - 'secrets',
  'sealed', (SELECT coalesce(json_agg(json_build_object('place', s.place, 'name', s.name,
      'keyId', s.key_id, 'sealed', encode(s.sealed, 'base64')) ORDER BY s.place, s.name), '[]')
    FROM hub.upstream_secret s WHERE s.service = u.slug
      AND s.origin = hub.origin_of(c.content ->> 'baseUrl') AND c.content -> 'secrets'
        @> jsonb_build_array(jsonb_build_object('place', s.place, 'name', s.name))),
  'endpoints', (SELECT coalesce(json_agg(e.endpoint
      || jsonb_strip_nulls(jsonb_build_object('price', p.amount::text, 'metered', p.metered))
      || coalesce((SELECT jsonb_build_object('sample', t.input) FROM hub.endpoint_test t
        WHERE t.service = u.slug AND octet_length(t.input::text) <= ${SAMPLE_BYTES_MAX}
          AND t.digest = hub.endpoint_digest(c.content ->> 'baseUrl', e.endpoint)), '{}')
      ORDER BY e.position), '[]')
    FROM (SELECT u.slug AS service, endpoint ->> 'method' AS method, endpoint ->> 'path' AS path,
        endpoint, position FROM jsonb_array_elements(c.content -> 'endpoints')
          WITH ORDINALITY listed (endpoint, position)) e
      JOIN LATERAL (${CURRENT_PRICE}) p ON true))::text AS text
  FROM hub.upstream u CROSS JOIN LATERAL (${content}) c`

/** The version that callers see; none before the first approval. */
const APPROVED = `SELECT v.content FROM hub.content_version v
  WHERE v.subject = u.slug AND v.state = 'approved'`
/** The owner's newest version, approved or not. */
const NEWEST = 'SELECT hub.upstream_content(u.slug) AS content'

const IS_ON_SALE = `u.state = 'active' AND (u.sunset_on IS NULL
  OR u.sunset_on >= (now() AT TIME ZONE 'UTC')::date)`

type Content = Pick<
  Upstream,
  'name' | 'category' | 'summary' | 'baseUrl' | 'requestHeaders' | 'responseHeaders'
>

interface UpstreamRow extends Pick<Upstream, 'slug' | 'provider' | 'freeCallsPerMonth'> {
  readonly content: Content
  readonly since: string | null
  readonly sunset: string | null
  readonly sealed: readonly (Omit<StoredSecret, 'value'> & { keyId: string; sealed: string })[]
  readonly endpoints: readonly (Omit<UpstreamEndpoint, 'price'> & { readonly price: string })[]
}

/** Creates the capability injected into the upstream plugin: upstreams on sale, with secrets. */
export function injectedUpstreams(deps: InjectionDeps): Upstreams {
  const { pool, keys, log } = deps
  const cache = new LRUCache<string, { text: string; upstream: Upstream | undefined }>({
    max: CACHE_MAX,
    maxSize: CACHE_CHARACTERS_MAX,
    sizeCalculation: ({ text }) => Math.max(1, text.length),
  })
  /** Returns undefined if a secret cannot be decrypted; logs that once, because it is cached. */
  const read = (key: string, text: string): Upstream | undefined => {
    const cached = cache.get(key)
    if (cached?.text === text) return cached.upstream
    const upstream = parseUpstream(deps, text, tokensOf)
    cache.set(key, { text, upstream })
    return upstream
  }
  const tokensOf = tokensFrom(deps)
  const one = async (
    slug: string,
    content: string,
    state: string,
  ): Promise<Upstream | undefined> => {
    const { rows } = await pool.query<{ text: string }>(
      `SELECT ${upstreamJson(content)} WHERE u.slug = $1 AND ${state}`,
      [slug],
    )
    const upstream = rows[0] && read(content === APPROVED ? slug : `preview ${slug}`, rows[0].text)
    return upstream && upstream.endpoints.length > 0 ? upstream : undefined
  }
  return {
    find: (slug) => one(slug, APPROVED, IS_ON_SALE),
    preview: (slug) => one(slug, NEWEST, `u.state <> 'retired'`),
    async list(after) {
      for (let last: string | undefined = after; last !== undefined; ) {
        const { rows }: { rows: { slug: string; text: string }[] } = await pool.query(
          `SELECT u.slug, ${upstreamJson(APPROVED)} WHERE ${IS_ON_SALE} AND u.slug > $1
           ORDER BY u.slug LIMIT ${PAGE_SIZE}`,
          [last],
        )
        const readable = rows.flatMap(({ slug, text }) => read(slug, text) ?? [])
        if (readable.length > 0) return readable
        last = rows.at(-1)?.slug // an empty page would mean the end
      }
      return []
    },
    due: () => findDueProbes(deps),
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

/** Claims the health checks that are due, at the address of the approved version. */
async function findDueProbes(deps: InjectionDeps): Promise<readonly DueProbe[]> {
  const slugs = await claimDueChecks(deps.pool)
  const { rows } = await deps.pool.query<{ slug: string; base: string; path: string }>(
    `SELECT subject AS slug, content ->> 'baseUrl' AS base, content ->> 'healthPath' AS path
     FROM hub.content_version WHERE subject = ANY ($1) AND state = 'approved'`,
    [slugs],
  )
  return rows.map(({ slug, base, path }) => ({
    slug,
    url: `${base}${path}`,
    way: egressFor(deps, base),
  }))
}

const egressFor = ({ http, backends, localOrigins }: InjectionDeps, baseUrl: string) =>
  localOrigins.includes(new URL(baseUrl).origin) ? backends : http

/** Returns the access tokens of client credentials, the same ones for the same sealed text. */
function tokensFrom(deps: InjectionDeps) {
  const cache = new LRUCache<string, OAuthTokens>({ max: CACHE_MAX })
  return (sealed: string, value: string): AccessTokens => {
    const known = cache.get(sealed)
    if (known) return known
    const credentials: ClientCredentials = JSON.parse(value)
    const tokens = new OAuthTokens(credentials, egressFor(deps, credentials.tokenUrl))
    cache.set(sealed, tokens)
    return tokens
  }
}

function parseUpstream(
  deps: InjectionDeps,
  text: string,
  tokensOf: ReturnType<typeof tokensFrom>,
): Upstream | undefined {
  const row: UpstreamRow = JSON.parse(text)
  const { since, sunset, sealed, endpoints, content, ...terms } = row
  const rest = { ...content, ...terms }
  const secrets = sealed.map(({ keyId, sealed: bytes, ...where }) => {
    const secret = { ...where, service: rest.slug, keyId, sealed: Buffer.from(bytes, 'base64') }
    return { ...where, sealed: bytes, value: openSecret(deps.keys, secret) }
  })
  const readable = secrets.filter(isReadable)
  const oauth = readable.find(({ place }) => place === 'oauth2')
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
    injected: readable.flatMap(({ place, name, value }) =>
      place === 'oauth2' ? [] : [{ place, name, value }],
    ),
    tokens: oauth && tokensOf(oauth.sealed, oauth.value),
    way: egressFor(deps, rest.baseUrl),
  }
}

const isReadable = <Secret extends { readonly value: string | undefined }>(
  secret: Secret,
): secret is Secret & { readonly value: string } => secret.value !== undefined
