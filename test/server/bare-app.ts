import type { IncomingMessage } from 'node:http'
import { z } from 'zod'
import { readConfig } from '../../core/config.ts'
import { createPool } from '../../core/db/pool.ts'
import { OPEN_GATE } from '../../core/identity/credential-gate.ts'
import { KeyRing } from '../../core/identity/keys.ts'
import { createLog } from '../../core/log.ts'
import { freePort } from '../../core/runtime/net.ts'
import { AccountStatus } from '../../core/usage/account-status.ts'
import { RateLimits } from '../../core/usage/rate-limit.ts'
import { MemoryWindows } from '../../core/usage/windows.ts'
import { createApp } from '../../server/app.ts'
import { ConnectionGuard } from '../../server/http/connection-guard.ts'
import type { HttpResponse } from '../../server/http/http-response.ts'
import { ResponseStream } from '../../server/http/response-stream.ts'
import { Meters } from '../../server/observability/meters.ts'
import type { CallRequest } from '../../server/proxy/call-types.ts'
import { type AnyRoute, route } from '../../server/rest/route.ts'
import { type Answer, type Listening, listen, type Sent, send } from './http.ts'

const anything = {} as AnyRoute['response']

const routesOf = (flow: () => ResponseStream): readonly AnyRoute[] => [
  route('GET /v1/things/{id}', {
    summary: 'A thing.',
    auth: 'none',
    response: anything,
    handle: async ({ params, header }) => {
      if (params['id'] === 'bug') throw new Error('a bug with a secret in it')
      if (params['id'] === 'bigint') return { body: { amount: 1n } }
      return { body: { id: params['id'], authorization: header('authorization') ?? null } }
    },
  }),
  route('POST /v1/things', {
    summary: 'Takes a thing.',
    auth: 'none',
    response: anything,
    body: z.unknown(),
    handle: async () => ({ body: {} }),
  }),
  route('GET /v1/download', {
    summary: 'What the test at hand sends.',
    auth: 'none',
    response: anything,
    handle: async () => ({ headers: { Trailer: 'X-Sum' }, body: flow() }),
  }),
  route('GET /v1/mine', {
    summary: 'For callers with a key.',
    auth: 'key',
    response: anything,
    handle: async () => ({ body: {} }),
  }),
]

/** Behavior that the current test defines, and what it observes. */
class BareApp {
  /** Response of the call. */
  call!: () => Promise<HttpResponse>
  /** Stream that `/v1/download` sends. */
  flow!: ResponseStream
  requests!: CallRequest[]
  logged!: string[]
  latest: IncomingMessage | undefined
  listening!: Listening

  readonly port = (): number => this.listening.port
  readonly ask = (sent: Sent): Promise<Answer> => send(this.port(), sent)

  forget(): void {
    this.call = async () => ({ status: 200, headers: {}, body: {} })
    this.flow = new ResponseStream()
    this.requests = []
    this.logged = []
    this.latest = undefined
  }
}

/** Creates the application without a database, MCP or pages for each test. */
export function bareApp(): BareApp {
  const app = new BareApp()
  let end: () => Promise<void>

  before(async () => {
    const nowhere = `postgres://nobody@127.0.0.1:${await freePort()}/none`
    const pool = createPool(nowhere, { applicationName: 'app' })
    end = () => pool.end()
    const answer = createApp({
      routes: routesOf(() => app.flow),
      mcp: () => undefined,
      cliCommand: () => 'hub',
      web: (_, next) => next(),
      call: (request) => {
        app.requests.push(request)
        return app.call()
      },
      pool,
      keys: new KeyRing(pool),
      admins: [],
      staff: readConfig({}).staff,
      limits: new RateLimits(new MemoryWindows()),
      accountStatus: new AccountStatus(pool),
      proxies: 0,
      sessionGate: OPEN_GATE,
      baseUrl: () => 'https://hub.example',
      log: createLog('info', { write: (line) => app.logged.push(line) }),
      meters: new Meters(),
      spans: undefined,
      draining: () => false,
      connections: new ConnectionGuard(createLog('silent')),
    })
    app.listening = await listen((request, response) => {
      app.latest = request
      return answer(request, response)
    })
  })
  beforeEach(() => app.forget())
  after(async () => {
    await app.listening.close()
    await end()
  })
  return app
}
