import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import { Slots } from '../../core/runtime/slots.ts'
import { networkPrefix } from '../../core/usage/network.ts'

/** Part of all connections that one network may have. */
const NETWORK_SHARE = 5

/**
 * Limits the open connections, in total and by network; further ones are closed at once. A full
 * server first closes its idle connections, so that new callers find room.
 * @param isByNetwork false behind reverse proxies, which have all connections
 */
export function limitConnections(server: Server, max: number, isByNetwork: boolean): void {
  const slots = new Slots({ max, maxPerKey: isByNetwork ? max / NETWORK_SHARE : max })
  server.on('connection', (socket: Socket) => {
    if (slots.isFull) server.closeIdleConnections()
    const free = slots.take(networkPrefix(socket.remoteAddress ?? ''))
    if (free) socket.once('close', free)
    else socket.destroy()
  })
}
