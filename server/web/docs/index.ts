import { z } from 'zod'
import {
  type Catalog,
  type CatalogEntry,
  catalogEntry,
} from '../../../core/catalog/services/catalog.ts'
import { Fault } from '../../../core/errors.ts'
import { cachedFor } from '../../../core/runtime/cache.ts'
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
import { agentsGuide, financeGuide, providersGuide, webhooksGuide } from './guides.ts'
import {
  type ApiDocument,
  problemPage,
  problemsPage,
  referencePage,
  sectionPages,
} from './reference.ts'

export interface DocsDeps {
  readonly catalog: Pick<Catalog, 'entries' | 'find'>
  readonly site: () => Site
  /** The OpenAPI document, with these services. */
  readonly openapi: (shown: readonly CatalogEntry[]) => Readonly<Record<string, unknown>>
  /** The same of one service alone. */
  readonly describe: (shown: readonly CatalogEntry[]) => Readonly<Record<string, unknown>>
  readonly creditsOnly: ReadonlySet<string>
  readonly version: string
  readonly sandbox: boolean
}

const CACHE_MS = 30_000

/** What tells people and agents how the hub is used: it follows from routes and catalogue. */
export function docsRoutes(deps: DocsDeps): readonly AnyRoute[] {
  const { catalog, site, creditsOnly, version } = deps
  const services = cachedFor(CACHE_MS, () => catalog.entries())
  const openapi = cachedFor(
    CACHE_MS,
    async () => deps.openapi(await services()) as unknown as ApiDocument,
  )
  const text = cachedFor(CACHE_MS, async () => JSON.stringify(await openapi()))
  const reference = cachedFor(CACHE_MS, async () => referencePage(await openapi()))
  const sections = cachedFor(CACHE_MS, async () => sectionPages(await openapi()))
  return [
    documentRoute('/openapi.json', 'This document: OpenAPI 3.1.', 'application/json', text),
    serviceDocumentRoute(deps),
    pageRoute('/docs', 'The API reference, for people.', reference),
    namedPageRoute(
      '/docs/reference/{section}',
      'One section of it: all of its operations.',
      async (name) => (await sections()).get(name),
    ),
    pageRoute('/docs/agents', 'From nothing to a paid call, for people.', async () =>
      agentsGuide(site()),
    ),
    pageRoute('/docs/providers', 'How one sells here, for people.', async () =>
      providersGuide(site(), deps.sandbox),
    ),
    pageRoute('/docs/webhooks', 'What a webhook is sent, and how it is checked.', async () =>
      webhooksGuide(deps),
    ),
    pageRoute('/docs/finance', 'How the books are read and closed.', async () =>
      financeGuide(site()),
    ),
    pageRoute('/docs/problems', 'Every error code, and what to do about it.', async () =>
      problemsPage(),
    ),
    namedPageRoute(
      '/docs/problems/{code}',
      'One error code; the type of every problem names its page.',
      async (code) => problemPage(code, await openapi()),
    ),
    documentRoute('/llms.txt', 'The hub for language models.', 'text/plain', async () =>
      llmsTxt(await services(), site()),
    ),
    documentRoute('/.well-known/agents.md', 'How an agent begins.', 'text/markdown', async () =>
      agentsMd(site()),
    ),
    documentRoute(
      '/.well-known/x402',
      'Every address that is paid by x402.',
      'application/json',
      async () => JSON.stringify(x402Resources(await services(), creditsOnly, site())),
    ),
    documentRoute(
      '/.well-known/api-catalog',
      'Where the API and its documents are (RFC 9727).',
      'application/linkset+json',
      async () => JSON.stringify(apiCatalog(site())),
    ),
    documentRoute(
      '/.well-known/agent-card.json',
      'The hub as an agent.',
      'application/json',
      async () => JSON.stringify(agentCard(await services(), site(), version)),
    ),
    documentRoute(
      '/server.json',
      'The hub for the registry of MCP.',
      'application/json',
      async () => JSON.stringify(registryEntry(site(), version)),
    ),
  ]
}

const serviceDocumentRoute = ({ catalog, describe }: DocsDeps): AnyRoute =>
  route({
    method: 'GET',
    path: '/v1/services/{slug}/openapi.json',
    summary: 'OpenAPI 3.1 of one service.',
    auth: 'none',
    shared: true,
    response: { status: 200, schema: z.looseObject({}) },
    faults: ['service_not_found'],
    handle: async ({ params }) => {
      const routes = await catalog.find(params['slug'] ?? '')
      if (!routes) throw new Fault('service_not_found')
      return { body: describe([...routes.values()].map(catalogEntry)) }
    },
  })

/** A page that is the same for everybody. */
const PAGE_ROUTE = {
  method: 'GET',
  auth: 'none',
  shared: true,
  response: { status: 200, type: 'text/html', schema: z.string() },
} as const

const pageRoute = (path: string, summary: string, show: () => Promise<RestReply>): AnyRoute =>
  route({ ...PAGE_ROUTE, path, summary, handle: show })

/** Pages that are named by the end of their path. @param find undefined: there is none */
const namedPageRoute = (
  path: string,
  summary: string,
  find: (name: string) => Promise<RestReply | undefined>,
): AnyRoute =>
  route({
    ...PAGE_ROUTE,
    path,
    summary,
    faults: ['not_found'],
    handle: async ({ params }) => {
      const [name = ''] = Object.values(params)
      const found = await find(name)
      if (!found) throw new Fault('not_found', `There is nothing called ${name}.`)
      return found
    },
  })

const documentRoute = (
  path: string,
  summary: string,
  type: string,
  write: () => Promise<string>,
): AnyRoute =>
  route({
    method: 'GET',
    path,
    summary,
    auth: 'none',
    shared: true,
    response: {
      status: 200,
      type,
      schema: type.endsWith('json') ? z.looseObject({}) : z.string(),
    },
    handle: async () => ({
      headers: { 'Content-Type': type.startsWith('text/') ? `${type}; charset=utf-8` : type },
      body: Buffer.from(await write()),
    }),
  })
