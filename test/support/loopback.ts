import { once } from 'node:events'
import type { Server as HttpServer } from 'node:http'
import type { AddressInfo, Server } from 'node:net'

/** Starts a server on a free port of 127.0.0.1. @returns the port */
export async function listenOnLoopback(server: Server): Promise<number> {
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return (server.address() as AddressInfo).port
}

/** Closes a server and its connections. */
export async function closeServer(server: HttpServer): Promise<void> {
  server.closeAllConnections()
  await once(server.close(), 'close')
}
