import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'

/** The end of an answer of PostgreSQL: ReadyForQuery, outside of a transaction. */
const READY = Buffer.from([0x5a, 0, 0, 0, 5, 0x49])

/**
 * An address that stays while the server behind it dies, moves, or cannot be reached; and a network
 * that can be made to fail in the ways that matter.
 */
export class Proxy {
  readonly port: number
  /** Port of the server behind; undefined: connections are refused. */
  target: number | undefined
  /** Answers that were dropped so far. */
  dropped = 0
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  #frozen = false
  #drops: { readonly pattern: RegExp; after: number; left: number } | undefined

  private constructor(server: Server, target: number | undefined) {
    this.#server = server
    this.port = (server.address() as AddressInfo).port
    this.target = target
    server.on('connection', (client) => this.#join(client))
  }

  static async open(target?: number): Promise<Proxy> {
    const server = createServer({ pauseOnConnect: true }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    return new Proxy(server, target)
  }

  /** The same connection string, by way of this proxy. */
  through(url: string): string {
    const own = new URL(url)
    own.port = String(this.port)
    return own.href
  }

  /** A network partition: connections stay, but nothing goes through, either way. */
  freeze(): void {
    this.#frozen = true
    for (const socket of this.#sockets) socket.pause()
  }

  thaw(): void {
    this.#frozen = false
    for (const socket of this.#sockets) socket.resume()
  }

  /** Breaks every connection. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy()
  }

  /**
   * The next `times` questions with this pattern reach the server; their answers are dropped when
   * they are complete, and the connection breaks: the client does not learn that it was done.
   * @param after so many of them are answered first
   */
  dropAnswers(pattern: RegExp, times: number, after = 0): void {
    this.#drops = { pattern, after, left: times }
  }

  async close(): Promise<void> {
    const closed = once(this.#server, 'close')
    this.#server.close()
    this.cut()
    await closed
  }

  #join(client: Socket): void {
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
    const doom = { doomed: false }
    for (const socket of [client, server]) {
      this.#sockets.add(socket)
      socket.setNoDelay(true).on('error', end).on('close', end)
    }
    client.on('data', (chunk) => {
      doom.doomed ||= this.#isDoomed(chunk)
      server.write(chunk)
    })
    server.on('data', (chunk) => {
      if (!doom.doomed) client.write(chunk)
      else if (chunk.subarray(-READY.length).equals(READY)) {
        this.dropped++
        end()
      }
    })
    if (this.#frozen) for (const socket of [client, server]) socket.pause()
    else client.resume()
  }

  #isDoomed(chunk: Buffer): boolean {
    const drops = this.#drops
    if (!drops || drops.left === 0 || !drops.pattern.test(chunk.toString('latin1'))) return false
    if (drops.after-- > 0) return false
    drops.left--
    return true
  }
}
