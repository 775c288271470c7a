import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import { unrefSleep } from '../../core/clock.ts'
import { type Config, ConfigError, type Drain } from '../../core/config.ts'
import { limitConnections } from './connection-limits.ts'
import { rejectMalformed } from './malformed.ts'

/**
 * Milliseconds a client may take to send headers and request; then it gets 408 and the connection
 * is closed. `idle` closes connections on which nothing was sent or read for longer than any call
 * lasts, because responses that nobody reads would be held forever.
 */
export const TIMEOUTS_MS = {
  headers: 10_000,
  request: 30_000,
  idle: 600_000,
  checkInterval: 1_000,
} as const

/** Address to listen on, and the limits of connections. @defaultValue no limits */
type ListenOptions = Pick<Config, 'host' | 'port'> &
  Partial<Pick<Config, 'connections' | 'proxies'>>

/**
 * Starts an HTTP server with limits on the time and size of requests.
 * @throws ConfigError when the port is taken
 */
export async function listen(
  handler: RequestListener,
  { host, port, connections, proxies }: ListenOptions,
  timeoutsMs: Readonly<Record<keyof typeof TIMEOUTS_MS, number>> = TIMEOUTS_MS,
): Promise<Server> {
  const server = createServer(
    {
      headersTimeout: timeoutsMs.headers,
      requestTimeout: timeoutsMs.request,
      connectionsCheckingInterval: timeoutsMs.checkInterval,
      maxHeaderSize: 32_768,
      requireHostHeader: false, // `assertWellFormed` requires it and sends a problem
    },
    handler,
  )
  server.timeout = timeoutsMs.idle
  if (connections) limitConnections(server, connections.max, proxies === 0)
  server.on('clientError', rejectMalformed)
  server.on('checkExpectation', handler) // unknown ones may be ignored (RFC 9110 §10.1.1)
  server.listen(port, host)
  try {
    await once(server, 'listening')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error
    throw new ConfigError(`Port ${port} is taken: set HUB_PORT to another one.`, { cause: error })
  }
  return server
}

/** Milliseconds between checks for idle connections while draining. */
const SWEEP_MS = 50

/** Stops accepting connections; closes those still in use after the grace period (seconds). */
export async function drain(
  server: Server,
  { graceSeconds: grace }: Pick<Drain, 'graceSeconds'>,
): Promise<void> {
  const closed = once(server, 'close')
  server.close()
  const sweep = setInterval(() => server.closeIdleConnections(), SWEEP_MS)
  await Promise.race([closed, unrefSleep(grace * 1_000)])
  clearInterval(sweep)
  server.closeAllConnections()
}

/** Returns the host to reach a listening address at: loopback for the unspecified address. */
export const reachableHost = (host: string): string => {
  if (host === '0.0.0.0' || host === '::') return '127.0.0.1'
  return host.includes(':') ? `[${host}]` : host
}
