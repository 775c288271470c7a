import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import nock from 'nock'
import type { Pool } from 'pg'
import { Robots } from '../../../core/catalog/listings/probe/robots.ts'
import { systemClock } from '../../../core/clock.ts'
import { createEgress } from '../../../core/egress/egress.ts'
import type { Egress } from '../../../core/egress/http.ts'
import { type FreshDatabase, freshDatabase } from '../../support/postgres.ts'
import { GOOD_TLS } from '../egress/goodtls.ts'
import { offer } from './rows.ts'

/** Answers one request of the hub. */
export type SiteHandler = (request: IncomingMessage, response: ServerResponse) => unknown

/** Sites of other people, all on this machine. */
export interface TestSites {
  /** Hosts that the hub's egress must allow. */
  readonly sandboxHosts: ReadonlyMap<string, number>
  /** Received requests, as `GET host/path?query`. */
  readonly visits: string[]
  /** Headers of the last visit. */
  readonly last: { headers: IncomingMessage['headers'] }
  /** Responses by host; 404 by default. */
  at(host: string, site: SiteHandler): void
  /** Forgets the sites and the visits. */
  clear(): void
  close(): void
}

/** The only one over TLS. */
export const SECURE = 'secure.test'
const HOSTS = ['owner.test', 'index.test', 'shop.test', 'other.test', 'gateway.test', 'agent.test']

export async function openTestSites(): Promise<TestSites> {
  const sites = new Map<string, SiteHandler>()
  const visits: string[] = []
  const last: TestSites['last'] = { headers: {} }
  const serve = (request: IncomingMessage, response: ServerResponse): void => {
    const host = request.headers.host ?? ''
    visits.push(`${request.method} ${host}${request.url}`)
    last.headers = request.headers
    const site = sites.get(host)
    if (site) site(request, response)
    else response.writeHead(404).end()
  }
  const servers = [createServer(serve), createTlsServer(GOOD_TLS, serve)] as const
  await Promise.all(servers.map((server) => once(server.listen(0, '127.0.0.1'), 'listening')))
  const [port, securePort] = servers.map((server) => (server.address() as AddressInfo).port)
  return {
    sandboxHosts: new Map([...HOSTS.map((host) => [host, port!] as const), [SECURE, securePort!]]),
    visits,
    last,
    at: (host, site) => void sites.set(host, site),
    clear() {
      sites.clear()
      visits.length = 0
    },
    close() {
      for (const server of servers) {
        server.close()
        server.closeAllConnections()
      }
    },
  }
}

/** Sites, a database, and the guarded way between them. */
export interface CatalogFixture extends Omit<TestSites, 'close'> {
  readonly database: FreshDatabase
  readonly pool: Pool
  readonly egress: Egress
  readonly rules: { readonly sandboxHosts: ReadonlyMap<string, number> }
  readonly robots: Robots
  /** Forgets what robots may, too. */
  clear(): void
  close(): Promise<void>
}

export async function openCatalogFixture(): Promise<CatalogFixture> {
  const database = await freshDatabase()
  const sites = await openTestSites()
  const { sandboxHosts } = sites
  const egress = createEgress({ sandboxHosts, userAgent: 'AgentHub/0' })
  let robots = new Robots(egress, systemClock)
  return {
    ...sites,
    database,
    pool: database.pool,
    egress,
    rules: { sandboxHosts },
    get robots() {
      return robots
    },
    clear() {
      sites.clear()
      robots = new Robots(egress, systemClock)
    },
    async close() {
      sites.close()
      await egress.close()
      await database.drop()
    },
  }
}

/** Opens the fixture for all tests of a `describe`, each of which begins without listings. */
export function useCatalog(): CatalogFixture {
  const fixture = {} as CatalogFixture
  before(async () => {
    nock.restore()
    const opened = await openCatalogFixture()
    Object.defineProperties(fixture, Object.getOwnPropertyDescriptors(opened))
  })
  after(async () => {
    await fixture.close()
    nock.activate()
  })
  beforeEach(async () => {
    await clearListings(fixture)
    fixture.clear()
  })
  return fixture
}

/** Empties everything that discovery writes. */
export const clearListings = ({ database }: CatalogFixture): Promise<unknown> =>
  database.admin.query(
    `TRUNCATE hub.listing_source, hub.listing_change, hub.listing_probe, hub.listing_day,
       hub.search_document, hub.discovery, hub.payee_day, hub.listing_owner, hub.listing CASCADE`,
  )

export const json = (response: ServerResponse, body: unknown, status = 200): void => {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

/** A resource that asks for payment, by version 2. */
export function sells(change: object = {}, more: object = {}): SiteHandler {
  return (request, response) => {
    const url = `http://${request.headers.host}${request.url}`
    const required = {
      x402Version: 2,
      resource: { url, description: 'Tells whether it rains.' },
      accepts: [offer(change)],
      ...more,
    }
    const header = Buffer.from(JSON.stringify(required)).toString('base64')
    response.writeHead(402, { 'payment-required': header }).end('{}')
  }
}

/** Several paths of one host. */
export function paths(sites: Readonly<Record<string, SiteHandler>>): SiteHandler {
  return (request, response) => {
    const site = sites[new URL(request.url ?? '', 'http://x').pathname]
    if (site) site(request, response)
    else response.writeHead(404).end()
  }
}
