import { z } from 'zod'
import type { Catalog } from '../../core/catalog/services.ts'
import { elapsedMs } from '../../core/clock.ts'
import { Fault } from '../../core/errors.ts'
import {
  agentCard,
  agentsText,
  apiCatalog,
  llmsText,
  type Site,
  x402Resources,
} from './docs-agents.ts'
import { type ApiDocument, problemPage, problemsPage, referencePage } from './docs-reference.ts'
import { type AnyRoute, type RestReply, route } from './route.ts'

export interface DocsPorts {
  readonly catalog: Pick<Catalog, 'all'>
  readonly site: () => Site
  /** The OpenAPI document. */
  readonly openapi: () => Readonly<Record<string, unknown>>
  readonly creditsOnly: ReadonlySet<string>
  readonly version: string
}

const FRESH_MS = 30_000

/** What tells people and agents how the hub is used: it follows from routes and catalogue. */
export function docsRoutes(ports: DocsPorts): readonly AnyRoute[] {
  const { catalog, site, creditsOnly, version } = ports
  const openapi = sparing(() => ports.openapi() as unknown as ApiDocument)
  const text = sparing(() => JSON.stringify(openapi()))
  const reference = sparing(() => referencePage(openapi()))
  const card = () => agentCard(catalog, site(), version)
  return [
    shared('/openapi.json', 'This document: OpenAPI 3.1.', 'application/json', () => text()),
    page('/docs', 'The API reference, for people.', reference),
    page('/docs/problems', 'Every error code, and what to do about it.', problemsPage),
    route({
      method: 'GET',
      path: '/docs/problems/{code}',
      summary: 'One error code; the type of every problem names its page.',
      auth: 'none',
      shared: true,
      answer: { status: 200, type: 'text/html', schema: z.string() },
      faults: ['not_found'],
      handle: async ({ params }) => {
        const found = problemPage(params['code'] ?? '', openapi())
        if (!found) throw new Fault('not_found', 'There is no such code.')
        return found
      },
    }),
    shared('/llms.txt', 'The hub for language models.', 'text/plain', () =>
      llmsText(catalog, site()),
    ),
    shared('/.well-known/agents.md', 'How an agent begins.', 'text/markdown', () =>
      agentsText(site()),
    ),
    shared('/.well-known/x402', 'Every address that is paid by x402.', 'application/json', () =>
      JSON.stringify(x402Resources(catalog, creditsOnly, site())),
    ),
    shared(
      '/.well-known/api-catalog',
      'Where the API and its documents are (RFC 9727).',
      'application/linkset+json',
      () => JSON.stringify(apiCatalog(site())),
    ),
    shared('/.well-known/agent-card.json', 'The hub as an agent.', 'application/json', () =>
      JSON.stringify(card()),
    ),
  ]
}

const page = (path: string, summary: string, show: () => RestReply): AnyRoute =>
  route({
    method: 'GET',
    path,
    summary,
    auth: 'none',
    shared: true,
    answer: { status: 200, type: 'text/html', schema: z.string() },
    handle: async () => show(),
  })

const shared = (path: string, summary: string, type: string, write: () => string): AnyRoute =>
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
      body: Buffer.from(write()),
    }),
  })

/** The same for half a minute: large, and asked for by many. */
function sparing<T>(make: () => T): () => T {
  let known: { readonly value: T; readonly at: number } | undefined
  return () => {
    if (!known || elapsedMs() - known.at > FRESH_MS) known = { value: make(), at: elapsedMs() }
    return known.value
  }
}
