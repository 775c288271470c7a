import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'

/** End of a PostgreSQL response: ReadyForQuery outside of a transaction. */
const READY = Buffer.from([0x5a, 0, 0, 0, 5, 0x49])

/**
 * TCP proxy with a stable address for a server that dies, moves or becomes unreachable. It can
 * inject network faults.
 */
export class Proxy {
  readonly port: number
  /** Port of the server; connections are refused if undefined. */
  target: number | undefined
  /** Number of dropped responses. */
  dropped = 0
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  #frozen = false
  #drops: { readonly pattern: RegExp; after: number; left: number } | undefined

  private constructor(server: Server, target: number | undefined) {
    this.#server = server
    this.port = (server.address() as AddressInfo).port
    this.target = target
    server.on('connection', (client) => this.#connect(client))
  }

  static async open(target?: number): Promise<Proxy> {
    const server = createServer({ pauseOnConnect: true }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    return new Proxy(server, target)
  }

  /** Returns the connection string with the port of this proxy. */
  through(url: string): string {
    const proxied = new URL(url)
    proxied.port = String(this.port)
    return proxied.href
  }

  /**
   * Simulates a network partition: connections stay open, but no data passes in either direction.
   */
  freeze(): void {
    this.#frozen = true
    for (const socket of this.#sockets) socket.pause()
  }

  thaw(): void {
    this.#frozen = false
    for (const socket of this.#sockets) socket.resume()
  }

  /** Closes every connection. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy()
  }

  /**
   * Drops the responses to the next `times` queries that match the pattern: they reach the server,
   * but once the response is complete the connection is closed, so the client does not learn the
   * outcome. @param after matching queries answered normally first
   */
  dropResponses(pattern: RegExp, times: number, after = 0): void {
    this.#drops = { pattern, after, left: times }
  }

  async close(): Promise<void> {
    const closed = once(this.#server, 'close')
    this.#server.close()
    this.cut()
    await closed
  }

  #connect(client: Socket): void {
    if (this.target === undefined) {
      client.destroy()
      return
    }
    const server = connect(this.target, '127.0.0.1')
    const end = (): void => {
      for (const socket of [client, server]) {
        this.#sockets.delete(socket)
        socket.destroy()
      }
    }
    const connection = { isDropping: false }
    for (const socket of [client, server]) {
      this.#sockets.add(socket)
      socket.setNoDelay(true).on('error', end).on('close', end)
    }
    client.on('data', (chunk) => {
      connection.isDropping ||= this.#shouldDrop(chunk)
      server.write(chunk)
    })
    server.on('data', (chunk) => {
      if (!connection.isDropping) client.write(chunk)
      else if (chunk.subarray(-READY.length).equals(READY)) {
        this.dropped++
        end()
      }
    })
    if (this.#frozen) for (const socket of [client, server]) socket.pause()
    else client.resume()
  }

  #shouldDrop(chunk: Buffer): boolean {
    const drops = this.#drops
    if (!drops || drops.left === 0 || !drops.pattern.test(chunk.toString('latin1'))) return false
    if (drops.after-- > 0) return false
    drops.left--
    return true
  }
}
