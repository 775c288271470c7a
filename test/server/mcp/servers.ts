import { request as ask, createServer } from 'node:http'
import { readConfig } from '../../../core/config.ts'
import { OPEN_GATE } from '../../../core/identity/credential-gate.ts'
import { KeyRing } from '../../../core/identity/keys.ts'
import { createLog } from '../../../core/log.ts'
import { AccountStatus } from '../../../core/usage/account-status.ts'
import { RateLimits } from '../../../core/usage/rate-limit.ts'
import { MemoryWindows } from '../../../core/usage/windows.ts'
import { createApp } from '../../../server/app.ts'
import { ConnectionGuard } from '../../../server/http/connection-guard.ts'
import { mcpEntry } from '../../../server/mcp/entry.ts'
import type { AnyTool } from '../../../server/mcp/tool.ts'
import { Meters } from '../../../server/observability/meters.ts'
import type { TestHub } from '../../support/hub.ts'
import { closeServer, listenOnLoopback } from '../../support/loopback.ts'

interface TestServer {
  readonly url: string
  close(): Promise<void>
}

async function listen(server: ReturnType<typeof createServer>): Promise<TestServer> {
  const port = await listenOnLoopback(server)
  return {
    url: `http://127.0.0.1:${port}`,
    async close() {
      await closeServer(server)
    },
  }
}

/** Serves an MCP endpoint with the given tools. */
export function serveTools({ hub }: TestHub, tools: readonly AnyTool[]): Promise<TestServer> {
  const { pool } = hub
  const log = createLog('silent')
  const ports = {
    keys: new KeyRing(pool),
    limits: new RateLimits(new MemoryWindows()),
    accountStatus: new AccountStatus(pool),
  }
  const originPolicy = { origins: () => [], allowed: [] }
  const connections = new ConnectionGuard(log)
  const observers = {
    log,
    meters: new Meters(),
    spans: undefined,
    draining: () => false,
    connections,
    proxies: 0,
  }
  const handler = createApp({
    ...ports,
    ...observers,
    mcp: mcpEntry({
      ...ports,
      ...observers,
      tools,
      toolsOf: async () => [],
      originPolicy,
      url: () => 'http://127.0.0.1/mcp',
      version: '0.0.0',
      cliCommand: () => 'hub',
    }),
    web: (_, next) => next(),
    pool,
    cliCommand: () => 'hub',
    routes: [],
    call: () => Promise.reject(new Error('nobody calls here')),
    admins: [],
    staff: readConfig({}).staff,
    proxies: 0,
    sessionGate: OPEN_GATE,
    baseUrl: () => 'http://127.0.0.1',
  })
  return listen(createServer((request, response) => void handler(request, response)))
}

/** Relays requests to `target` with an API key, for programs that cannot send one. */
export function serveWithKey(target: string, apiKey: string): Promise<TestServer> {
  const { hostname, port, host } = new URL(target)
  const server = createServer((from, to) => {
    const own = from.headers.host === `127.0.0.1:${String(from.socket.localPort)}`
    const headers = {
      ...from.headers,
      authorization: `Bearer ${apiKey}`,
      host: own ? host : from.headers.host,
    }
    const on = ask({ hostname, port, path: from.url, method: from.method, headers }, (response) => {
      to.writeHead(response.statusCode!, response.headers)
      response.pipe(to)
    })
    on.on('error', () => to.destroy())
    to.on('close', () => on.destroy())
    from.pipe(on)
  })
  return listen(server)
}
