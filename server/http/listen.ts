import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import { unrefSleep } from '../../core/clock.ts'
import { type Config, ConfigError, type Drain } from '../../core/config.ts'
import { rejectMalformed } from './malformed.ts'

/**
 * How long a caller may take to ask, in milliseconds; then 408, and the connection is closed. So it
 * is where nothing at all was sent or taken for `silence`, longer than any call may last: answers
 * that nobody reads would be held for ever.
 */
export const TIMEOUTS_MS = {
  headers: 10_000,
  request: 30_000,
  idle: 600_000,
  checkInterval: 1_000,
} as const

/**
 * A server that gives nobody more time or room than a request needs.
 * @throws ConfigError when the port is taken
 */
export async function listen(
  handler: RequestListener,
  { host, port }: Pick<Config, 'host' | 'port'>,
  timeoutsMs: Readonly<Record<keyof typeof TIMEOUTS_MS, number>> = TIMEOUTS_MS,
): Promise<Server> {
  const server = createServer(
    {
      headersTimeout: timeoutsMs.headers,
      requestTimeout: timeoutsMs.request,
      connectionsCheckingInterval: timeoutsMs.check,
      maxHeaderSize: 32_768,
      requireHostHeader: false, // `assertWellFormed` wants one too, and answers by a problem
    },
    handler,
  )
  server.timeout = timeoutsMs.silence
  server.on('clientError', rejectMalformed)
  server.on('checkExpectation', handler) // what is not known may be overlooked (RFC 9110 §10.1.1)
  server.listen(port, host)
  try {
    await once(server, 'listening')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error
    throw new ConfigError(`Port ${port} is taken: set HUB_PORT to another one.`, { cause: error })
  }
  return server
}

/** Between looks for connections whose request has just been answered. */
const SWEEP_MS = 50

/**
 * Takes no new connections, and waits until requests and streams at work are finished, no longer
 * than `grace` seconds; what is left then is cut off.
 */
export async function drain(
  server: Server,
  { graceSeconds: grace }: Pick<Drain, 'grace'>,
): Promise<void> {
  const closed = once(server, 'close')
  server.close()
  const sweep = setInterval(() => server.closeIdleConnections(), SWEEP_MS)
  await Promise.race([closed, unrefSleep(grace * 1_000)])
  clearInterval(sweep)
  server.closeAllConnections()
}

/** How to reach an address that one listens on: "all of them" is reached on loopback. */
export const reachableHost = (host: string): string => {
  if (host === '0.0.0.0' || host === '::') return '127.0.0.1'
  return host.includes(':') ? `[${host}]` : host
}
