import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { MAGAZINE_PAGES } from './magazine-pages.ts'

/** A sample site whose owner sells its pages through the content gateway. */
export interface Magazine {
  /** Port on 127.0.0.1. */
  readonly port: number
  /** Publishes the hub's token as proof of ownership. */
  show(token: string): void
  stop(): Promise<void>
}

const PROOF = '/.well-known/agenthub.txt'
const PLAIN = { 'Content-Type': 'text/plain; charset=utf-8' }
const PAGE = { 'Content-Type': 'text/html; charset=utf-8' }

/** Starts the sample magazine: a few articles, one of them written by a script. */
export async function startMagazine(): Promise<Magazine> {
  const tokens = new Set<string>()
  const server = createServer(({ url = '/' }, response) => {
    const [path = '/'] = url.split('?')
    const page = MAGAZINE_PAGES[path]
    if (path === PROOF) response.writeHead(200, PLAIN).end([...tokens, ''].join('\n'))
    else if (page) response.writeHead(200, PAGE).end(page)
    else response.writeHead(404, PLAIN).end('There is no such page.\n')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    show: (token) => void tokens.add(token),
    async stop() {
      server.close()
      server.closeAllConnections()
    },
  }
}
