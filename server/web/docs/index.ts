import { z } from 'zod'
import {
  type Catalog,
  type CatalogEntry,
  catalogEntry,
} from '../../../core/catalog/services/catalog.ts'
import { Fault } from '../../../core/errors.ts'
import { cachedFor, LoadingCache } from '../../../core/runtime/cache.ts'
import { AUDIENCE_NAMES, AUDIENCES, type Audience } from '../../rest/openapi/audiences.ts'
import { shareResponses } from '../../rest/openapi/shared-responses.ts'
import { type AnyRoute, type RestReply, route } from '../../rest/route.ts'
import {
  agentCard,
  agentsMd,
  apiCatalog,
  llmsTxt,
  registryEntry,
  type Site,
  x402Resources,
} from './agent-documents.ts'
import { type DocsSection, docsIndex, searchPage } from './docs-search.ts'
import { agentsGuide, financeGuide, providersGuide, webhooksGuide } from './guides.ts'
import { operationsGuide } from './operations.ts'
import {
  type ApiDocument,
  problemPage,
  problemsPage,
  referencePage,
  sectionPage,
} from './reference.ts'

export interface DocsDeps {
  readonly catalog: Pick<Catalog, 'entries' | 'find'>
  readonly site: () => Site
  /** Builds the OpenAPI document of the hub with these services. */
  readonly openapi: (shown: readonly CatalogEntry[]) => Readonly<Record<string, unknown>>
  /** Builds that of one kind of callers. */
  readonly openapiOf: (
    audience: Audience,
    shown: readonly CatalogEntry[],
  ) => Readonly<Record<string, unknown>>
  readonly describe: (shown: readonly CatalogEntry[]) => Readonly<Record<string, unknown>>
  /** Returns true for an endpoint that wallets pay per request. */
  readonly isPayable: (entry: CatalogEntry) => boolean
  readonly version: string
  readonly sandbox: boolean
}

const CACHE_MS = 30_000
/** Pages of the reference in memory. */
const SECTIONS_MAX = 200

/** Documentation for people and agents, generated from routes and catalog. */
export function docsRoutes(deps: DocsDeps): readonly AnyRoute[] {
  const services = cachedFor(CACHE_MS, () => deps.catalog.entries())
  const openapi = cachedFor(
    CACHE_MS,
    async () => deps.openapi(await services()) as unknown as ApiDocument,
  )
  return [
    ...AUDIENCE_NAMES.map((audience) => openApiRoute(deps, audience, services)),
    serviceDocumentRoute(deps),
    ...pageRoutes(deps, openapi),
    ...agentDocumentRoutes(deps, services),
  ]
}

function openApiRoute(
  { openapiOf }: DocsDeps,
  audience: Audience,
  services: () => Promise<readonly CatalogEntry[]>,
): AnyRoute {
  const { path, title } = AUDIENCES[audience]
  const text = cachedFor(CACHE_MS, async () =>
    JSON.stringify(shareResponses(openapiOf(audience, await services()) as unknown as ApiDocument)),
  )
  return documentRoute(path, `Returns an OpenAPI 3.1 document: ${title}.`, 'application/json', text)
}

function pageRoutes(deps: DocsDeps, openapi: () => Promise<ApiDocument>): readonly AnyRoute[] {
  const { site, sandbox } = deps
  const guides = {
    '/docs/agents': ['Guide for agents.', () => agentsGuide(site())],
    '/docs/providers': ['Guide for providers.', () => providersGuide(site(), sandbox)],
    '/docs/webhooks': ['Guide for webhooks.', () => webhooksGuide(deps)],
    '/docs/finance': ['Guide for finance.', () => financeGuide(site())],
    '/docs/operations': ['Guide for operators.', operationsGuide],
  } as const
  const index = cachedFor(CACHE_MS, async () => {
    const texts = Object.entries(guides).map(([path, [, show]]) => [path, show().guide] as const)
    return docsIndex(Object.fromEntries(texts), await openapi())
  })
  const reference = cachedFor(CACHE_MS, async () => referencePage(await openapi()))
  const sections = new LoadingCache(async (name: string) => sectionPage(name, await openapi()), {
    ttlMs: CACHE_MS,
    max: SECTIONS_MAX,
  })
  return [
    pageRoute('/docs', 'API reference.', reference),
    namedPageRoute(
      '/docs/reference/{section}',
      'One section of the API reference.',
      async (name) => sections.get(name) ?? sections.load(name),
    ),
    ...Object.entries(guides).map(([path, [summary, show]]) =>
      pageRoute(path, summary, async () => show()),
    ),
    searchRoute(index),
    pageRoute('/docs/problems', 'All error codes and what to do.', async () => problemsPage()),
    namedPageRoute(
      '/docs/problems/{code}',
      'One error code. The type of every problem links to its page.',
      async (code) => problemPage(code, await openapi()),
    ),
  ]
}

const searchRoute = (index: () => Promise<readonly DocsSection[]>): AnyRoute =>
  route('GET /docs/search', {
    ...PAGE_ROUTE,
    summary: 'Searches guides, operations and error codes.',
    query: z.object({ q: z.string().trim().max(200).default('') }),
    handle: async ({ query: { q } }) => searchPage(await index(), q),
  })

const agentDocumentRoutes = (
  { site, isPayable, version }: DocsDeps,
  services: () => Promise<readonly CatalogEntry[]>,
): readonly AnyRoute[] => [
  documentRoute('/llms.txt', 'Overview for language models.', 'text/plain', async () =>
    llmsTxt(await services(), site()),
  ),
  documentRoute(
    '/.well-known/agents.md',
    'Getting started for agents.',
    'text/markdown',
    async () => agentsMd(site()),
  ),
  documentRoute(
    '/.well-known/x402',
    'URLs that are payable by x402.',
    'application/json',
    async () => JSON.stringify(x402Resources((await services()).filter(isPayable), site())),
  ),
  documentRoute(
    '/.well-known/api-catalog',
    'Links to the API and its documentation (RFC 9727).',
    'application/linkset+json',
    async () => JSON.stringify(apiCatalog(await services(), site())),
  ),
  documentRoute(
    '/.well-known/agent-card.json',
    'Agent card of the hub.',
    'application/json',
    async () => {
      const shown = await services()
      return JSON.stringify(agentCard(shown, shown.filter(isPayable), site(), version))
    },
  ),
  documentRoute('/server.json', 'Entry for the MCP registry.', 'application/json', async () =>
    JSON.stringify(registryEntry(site(), version)),
  ),
]

const serviceDocumentRoute = ({ catalog, describe }: DocsDeps): AnyRoute =>
  route('GET /v1/services/{slug}/openapi.json', {
    summary: 'Returns the OpenAPI 3.1 document of one service.',
    auth: 'none',
    shared: true,
    response: { status: 200, schema: z.looseObject({}) },
    faults: ['service_not_found'],
    handle: async ({ params }) => {
      const routes = await catalog.find(params.slug)
      if (!routes) throw new Fault('service_not_found')
      return { body: describe([...routes.values()].map(catalogEntry)) }
    },
  })

const PAGE_ROUTE = {
  auth: 'none',
  shared: true,
  response: { status: 200, type: 'text/html', schema: z.string() },
} as const

const pageRoute = (path: string, summary: string, show: () => Promise<RestReply>): AnyRoute =>
  route(`GET ${path}`, { ...PAGE_ROUTE, summary, handle: show })

/** Pages by a name in the path. @param find returns undefined for an unknown name */
const namedPageRoute = (
  path: string,
  summary: string,
  find: (name: string) => Promise<RestReply | undefined>,
): AnyRoute =>
  route(`GET ${path}`, {
    ...PAGE_ROUTE,
    summary,
    faults: ['not_found'],
    handle: async ({ params }) => {
      const [name = ''] = Object.values(params)
      const found = await find(name)
      if (!found) throw new Fault('not_found', `There is no documentation page ${name}.`)
      return found
    },
  })

const documentRoute = (
  path: string,
  summary: string,
  type: string,
  write: () => Promise<string>,
): AnyRoute =>
  route(`GET ${path}`, {
    summary,
    auth: 'none',
    shared: true,
    response: { status: 200, type, schema: type.endsWith('json') ? z.looseObject({}) : z.string() },
    handle: async () => ({
      headers: { 'Content-Type': type.startsWith('text/') ? `${type}; charset=utf-8` : type },
      body: Buffer.from(await write()),
    }),
  })
