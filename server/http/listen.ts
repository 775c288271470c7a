import { once } from 'node:events'
import type { RequestListener } from 'node:http'
import { type Config, ConfigError } from '../../core/config.ts'
import { limitConnections } from './connection-limits.ts'
import { HubServer } from './hub-server.ts'
import { INHERITED_FD } from './inherited-socket.ts'
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
type ServerSettings = Pick<Config, 'host' | 'port'> &
  Partial<Pick<Config, 'connections' | 'proxies' | 'inheritsSocket'>>

/**
 * Starts an HTTP server with limits on the time and size of requests.
 * @throws ConfigError when the port is taken
 */
export async function listen(
  handler: RequestListener,
  { host, port, connections, proxies, inheritsSocket }: ServerSettings,
  timeoutsMs: Readonly<Record<keyof typeof TIMEOUTS_MS, number>> = TIMEOUTS_MS,
): Promise<HubServer> {
  const server = new HubServer(
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
  server.on('connect', (_, socket) => {
    socket.on('error', () => socket.destroy())
    rejectMalformed(new Error('the hub opens no tunnels'), socket)
  })
  server.listen(inheritsSocket ? { fd: INHERITED_FD, exclusive: true } : { host, port })
  try {
    await once(server, 'listening')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error
    throw new ConfigError(`Port ${port} is taken: set HUB_PORT to another one.`, { cause: error })
  }
  if (typeof server.address() === 'string') {
    server.close()
    throw new ConfigError('The socket of LISTEN_FDS must be one of TCP, with a port.')
  }
  return server
}

/** Returns the host to reach a listening address at: loopback for the unspecified address. */
export const reachableHost = (host: string): string => {
  if (host === '0.0.0.0' || host === '::') return '127.0.0.1'
  return host.includes(':') ? `[${host}]` : host
}
