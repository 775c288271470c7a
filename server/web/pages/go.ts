import { z } from 'zod'
import { readHits } from '../../../core/catalog/search/hits.ts'
import { search } from '../../../core/catalog/search/search.ts'
import { Fault } from '../../../core/errors.ts'
import { findCallKey } from '../../../core/usage/call-records.ts'
import type { KeyJson } from '../../rest/account/keys.ts'
import type { SearchDeps } from '../../rest/catalog/search.ts'
import type { ListPage } from '../../rest/paging.ts'
import { type Html, html } from '../html.ts'
import { emptyState } from '../messages.ts'
import { areasOf, DOCS_TABS, MAIN_LINKS } from '../navigation.ts'
import { type AnyPage, type PageRequest, page } from '../page.ts'
import { withQuery } from '../table.ts'

/** Place to go to, such as a page, a service or a key. */
interface Target {
  readonly name: string
  readonly path: string
  readonly kind: string
}

const PATH = '/go'
const SERVICES_MAX = 5
/** Kind of services. Search finds them, so only an exact name redirects. */
const SERVICE = 'Service'
/** Marks ids that are UUIDs and have no prefix. */
const UUID = ''

/** Kinds of ids: prefix, REST route that finds one, and page that shows it. */
const BY_ID = [
  ['key_', 'Key', 'GET /v1/keys/{id}', (id: string) => `/account/keys/${id}`],
  ['key_', 'Key state', 'GET /v1/admin/keys/{id}', (key: string) => `/admin/keys?key=${key}`],
  ['dom_', 'Domain', 'GET /v1/domains/{id}', (id: string) => `/provider/domains/${id}`],
  ['ext_', 'External API', 'GET /v1/external/{id}', (id: string) => `/listings/${id}`],
  [UUID, 'Payout', 'GET /v1/provider/payouts/{id}', (id: string) => `/provider/payouts/${id}`],
  [UUID, 'Entries', 'GET /v1/finance/entries/{id}', (id: string) => `/finance/entries/${id}`],
] as const

/**
 * `/go?q=…`: pages, services and keys by name; calls, keys, domains, external APIs, payouts and
 * entries by id. Redirects to the only match, to a service if its name is the same.
 * The command palette sends this form; with `list`, it shows the matches while somebody types.
 */
export const goPage = (deps: SearchDeps): AnyPage =>
  page(PATH, {
    access: 'personal',
    query: z.object({
      q: z.string().trim().max(254).default(''),
      list: z.literal('1').optional(),
    }),
    render: async (request) => {
      const { q, list } = request.query
      const targets = await findTargets(request, deps)
      const same = targets.filter(({ name }) => name.toLowerCase() === q.toLowerCase())
      const [only, other] = same.length > 0 ? same : targets.filter(({ kind }) => kind !== SERVICE)
      if (only && !other && list === undefined) return { to: only.path }
      return {
        title: 'Go to',
        main: html`<h1>Go to</h1>${goForm(q)}${targetList(targets)}${
          q !== '' &&
          html`<p><a href="${withQuery('/services', { q })}">Search all APIs for “${q}”</a></p>`
        }`,
      }
    },
  })

async function findTargets(
  request: PageRequest<{ readonly q: string }>,
  deps: SearchDeps,
): Promise<readonly Target[]> {
  const { q } = request.query
  const byId = [...(await ownCall(q, request, deps)), ...(await targetsOfId(q, request))]
  if (byId.length > 0) return byId
  const words = q.toLowerCase().split(/\s+/)
  const isMatch = ({ kind, name }: Target): boolean => {
    const text = `${kind} ${name}`.toLowerCase()
    return words.every((word) => text.includes(word))
  }
  const { session } = request
  const [keys, services] = await Promise.all([
    q === '' ? [] : ownKeys(request),
    q === '' ? [] : findServices(deps, q),
  ])
  const areas = session && areasOf(session.role)
  return [...pagesOf(areas).filter(isMatch), ...keys.filter(isMatch), ...services]
}

/** Finds a call of the visitor. */
async function ownCall(id: string, { session }: PageRequest, { pool }: SearchDeps) {
  const isOwn =
    session && z.uuid().safeParse(id).success && (await findCallKey(pool, session.principals, id))
  return isOwn ? [{ name: id, path: `/account/calls/${id}`, kind: 'Call' }] : []
}

/** Finds what has this id, among what the visitor may see. */
async function targetsOfId(id: string, { api }: PageRequest): Promise<readonly Target[]> {
  const isUuid = z.uuid().safeParse(id).success
  const found = BY_ID.filter(([prefix]) => (prefix === UUID ? isUuid : id.startsWith(prefix))).map(
    async ([, kind, route, pathOf]) => {
      try {
        await api(route, { params: { id } })
        return [{ name: id, path: pathOf(id), kind }]
      } catch (error) {
        if (error instanceof Fault && error.status < 500) return []
        throw error
      }
    },
  )
  return (await Promise.all(found)).flat()
}

/** Pages that a visitor may open. */
const pagesOf = (areas: ReturnType<typeof areasOf> = []): readonly Target[] =>
  [{ label: 'Page', pages: MAIN_LINKS }, ...areas, DOCS_TABS].flatMap(({ label: kind, pages }) =>
    Object.entries(pages).map(([name, path]) => ({ name, path, kind })),
  )

/** Finds the first keys of the visitor. */
async function ownKeys({ session, api }: PageRequest): Promise<readonly Target[]> {
  if (!session) return []
  const { data } = await api<ListPage<KeyJson>>('GET /v1/keys', { query: { limit: '100' } })
  return data.map(({ key_id: id, name }) => {
    return { name: name ?? id, path: `/account/keys/${id}`, kind: 'Key' }
  })
}

/** Finds services by words alone, because it runs while somebody types. */
async function findServices(
  { pool, clock }: SearchDeps,
  query: string,
): Promise<readonly Target[]> {
  const all = { category: undefined, maxPrice: undefined, network: undefined, tag: undefined }
  const request = { query, type: 'native' as const, ...all, limit: SERVICES_MAX }
  const { hits } = await search(pool, clock, request)
  return (await readHits(pool, hits, clock.now())).flatMap((hit) =>
    'service' in hit
      ? [{ name: hit.service.name, path: `/services/${hit.service.slug}`, kind: SERVICE }]
      : [],
  )
}

const goForm = (q: string): Html =>
  html`<form action="${PATH}" role="search"><div class="search-box"><input type="search" name="q"
value="${q}" aria-label="Page, service, key or id" autocomplete="off"><button type="submit">Go
</button></div></form>`

const targetList = (targets: readonly Target[]): Html =>
  targets.length === 0
    ? emptyState('No page, service or key has this name or id.')
    : html`<ul class="targets">${targets.map(
        ({ name, path, kind }) =>
          html`<li><a href="${path}">${name} <span class="muted small">${kind}</span></a></li>`,
      )}</ul>`
