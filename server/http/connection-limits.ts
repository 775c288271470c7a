import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import { networkPrefix } from '../../core/usage/network.ts'

/** Part of all connections that one network may have. */
const NETWORK_SHARE = 5

/**
 * Limits the open connections, in total and by network; further ones are closed at once. A full
 * server first closes its idle connections, so that new callers find room.
 * @param isByNetwork false behind reverse proxies, which have all connections
 */
export function limitConnections(server: Server, max: number, isByNetwork: boolean): void {
  const open = new Map<string, number>()
  let total = 0
  server.on('connection', (socket: Socket) => {
    const network = networkPrefix(socket.remoteAddress ?? '')
    const count = open.get(network) ?? 0
    if (total >= max) server.closeIdleConnections()
    if (total >= max || (isByNetwork && count >= max / NETWORK_SHARE)) {
      socket.destroy()
      return
    }
    total++
    open.set(network, count + 1)
    socket.once('close', () => {
      total--
      const left = open.get(network)! - 1
      if (left > 0) open.set(network, left)
      else open.delete(network)
    })
  })
}
