import { z } from 'zod'
import { type Catalog, type Shown, shown } from '../../../core/catalog/services/catalog.ts'
import { Fault } from '../../../core/errors.ts'
import { type AnyRoute, type RestReply, route } from '../../rest/route.ts'
import { sparing } from '../../sparing.ts'
import {
  agentCard,
  agentsText,
  apiCatalog,
  llmsText,
  registryEntry,
  type Site,
  x402Resources,
} from './agents.ts'
import { financeGuide } from './finance.ts'
import { agentsGuide, providersGuide } from './guides.ts'
import {
  type ApiDocument,
  problemPage,
  problemsPage,
  referencePage,
  sectionPages,
} from './reference.ts'
import { webhooksGuide } from './webhooks.ts'

export interface DocsPorts {
  readonly catalog: Pick<Catalog, 'shown' | 'find'>
  readonly site: () => Site
  /** The OpenAPI document, with these services. */
  readonly openapi: (shown: readonly Shown[]) => Readonly<Record<string, unknown>>
  /** The same of one service alone. */
  readonly describe: (shown: readonly Shown[]) => Readonly<Record<string, unknown>>
  readonly creditsOnly: ReadonlySet<string>
  readonly version: string
  readonly sandbox: boolean
}

/** What tells people and agents how the hub is used: it follows from routes and catalogue. */
export function docsRoutes(ports: DocsPorts): readonly AnyRoute[] {
  const { catalog, site, creditsOnly, version } = ports
  const services = sparing(() => catalog.shown())
  const openapi = sparing(async () => ports.openapi(await services()) as unknown as ApiDocument)
  const text = sparing(async () => JSON.stringify(await openapi()))
  const reference = sparing(async () => referencePage(await openapi()))
  const sections = sparing(async () => sectionPages(await openapi()))
  return [
    shared('/openapi.json', 'This document: OpenAPI 3.1.', 'application/json', text),
    ofService(ports),
    page('/docs', 'The API reference, for people.', reference),
    oneOf('/docs/reference/{section}', 'One section of it: all of its operations.', async (name) =>
      (await sections()).get(name),
    ),
    page('/docs/agents', 'From nothing to a paid call, for people.', async () =>
      agentsGuide(site()),
    ),
    page('/docs/providers', 'How one sells here, for people.', async () =>
      providersGuide(site(), ports.sandbox),
    ),
    page('/docs/webhooks', 'What a webhook is sent, and how it is checked.', async () =>
      webhooksGuide(ports),
    ),
    page('/docs/finance', 'How the books are read and closed.', async () => financeGuide(site())),
    page('/docs/problems', 'Every error code, and what to do about it.', async () =>
      problemsPage(),
    ),
    oneOf(
      '/docs/problems/{code}',
      'One error code; the type of every problem names its page.',
      async (code) => problemPage(code, await openapi()),
    ),
    shared('/llms.txt', 'The hub for language models.', 'text/plain', async () =>
      llmsText(await services(), site()),
    ),
    shared('/.well-known/agents.md', 'How an agent begins.', 'text/markdown', async () =>
      agentsText(site()),
    ),
    shared(
      '/.well-known/x402',
      'Every address that is paid by x402.',
      'application/json',
      async () => JSON.stringify(x402Resources(await services(), creditsOnly, site())),
    ),
    shared(
      '/.well-known/api-catalog',
      'Where the API and its documents are (RFC 9727).',
      'application/linkset+json',
      async () => JSON.stringify(apiCatalog(site())),
    ),
    shared('/.well-known/agent-card.json', 'The hub as an agent.', 'application/json', async () =>
      JSON.stringify(agentCard(await services(), site(), version)),
    ),
    shared('/server.json', 'The hub for the registry of MCP.', 'application/json', async () =>
      JSON.stringify(registryEntry(site(), version)),
    ),
  ]
}

const ofService = ({ catalog, describe }: DocsPorts): AnyRoute =>
  route({
    method: 'GET',
    path: '/v1/services/{slug}/openapi.json',
    summary: 'OpenAPI 3.1 of one service.',
    auth: 'none',
    shared: true,
    answer: { status: 200, schema: z.looseObject({}) },
    faults: ['service_not_found'],
    handle: async ({ params }) => {
      const routes = await catalog.find(params['slug'] ?? '')
      if (!routes) throw new Fault('service_not_found')
      return { body: describe([...routes.values()].map(shown)) }
    },
  })

/** A page that is the same for everybody. */
const PAGE = {
  method: 'GET',
  auth: 'none',
  shared: true,
  answer: { status: 200, type: 'text/html', schema: z.string() },
} as const

const page = (path: string, summary: string, show: () => Promise<RestReply>): AnyRoute =>
  route({ ...PAGE, path, summary, handle: show })

/** Pages that are named by the end of their path. @param find undefined: there is none */
const oneOf = (
  path: string,
  summary: string,
  find: (name: string) => Promise<RestReply | undefined>,
): AnyRoute =>
  route({
    ...PAGE,
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

const shared = (
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
    answer: {
      status: 200,
      type,
      schema: type.endsWith('json') ? z.looseObject({}) : z.string(),
    },
    handle: async () => ({
      headers: { 'Content-Type': type.startsWith('text/') ? `${type}; charset=utf-8` : type },
      body: Buffer.from(await write()),
    }),
  })
