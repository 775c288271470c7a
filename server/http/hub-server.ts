import { once } from 'node:events'
import {
  type IncomingMessage,
  type RequestListener,
  Server,
  type ServerOptions,
  type ServerResponse,
} from 'node:http'
import { Server as NetServer, type Socket } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { elapsedMs, unrefSleep } from '../../core/clock.ts'
import type { Drain } from '../../core/config.ts'

/** A connection, and what of it is unanswered. */
interface OpenConnection {
  /** Requests without a complete response. */
  requests: number
  /** Bytes received when the last response was complete: more belong to the next request. */
  receivedBytes: number
  idleSince: number
}

/** Milliseconds between checks for idle connections while draining. */
const SWEEP_MS = 50
/**
 * Milliseconds that a connection must have been idle before a drain closes it: clients that use it
 * more often are told by `Connection: close`, and have no request on the way.
 */
const IDLE_MS = 1_000
/** Maximum time to accept the connections that wait in the backlog. */
const BACKLOG_MS = 1_000

type DrainOptions = Pick<Drain, 'graceSeconds'> & {
  readonly idleMs?: number
  /** True if another process goes on accepting connections from the same socket. */
  readonly isReplaced?: boolean
}

/** HTTP server that can stop without cutting off a request. */
export class HubServer extends Server {
  readonly #connections = new Map<Socket, OpenConnection>()

  constructor(options: ServerOptions, handler: RequestListener) {
    super(options)
    const handle: RequestListener = (request, response) => {
      this.#count(request, response)
      handler(request, response)
    }
    this.on('request', handle)
    this.on('checkExpectation', handle) // unknown ones may be ignored (RFC 9110 §10.1.1)
    this.on('connection', (socket: Socket) => {
      this.#connections.set(socket, { requests: 0, receivedBytes: 0, idleSince: elapsedMs() })
      socket.once('close', () => this.#connections.delete(socket))
    })
  }

  /**
   * Stops accepting connections, after those that wait in the backlog, and closes each connection
   * when it is idle; closes those still in use after the grace period (seconds). The handler should
   * send `Connection: close` meanwhile.
   */
  async drain({ graceSeconds: grace, idleMs = IDLE_MS, isReplaced }: DrainOptions): Promise<void> {
    const closed = once(this, 'close')
    const graceEnd = unrefSleep(grace * 1_000)
    await this.#acceptBacklog()
    if (!isReplaced) {
      this.#shrinkBacklog()
      await this.#acceptBacklog()
    }
    NetServer.prototype.close.call(this) // unlike Server, it closes no idle connections
    // After the event loop has read what arrived: a request may be among it.
    const sweep = setInterval(() => setImmediate(() => this.#closeIdle(idleMs)), SWEEP_MS)
    await Promise.race([closed, graceEnd])
    clearInterval(sweep)
    this.close()
    this.closeAllConnections()
  }

  /**
   * Lets at most one connection wait in the backlog: the end of the socket resets those that do.
   * Later ones are not acknowledged, so that their clients try again after a second. Node has no
   * public function for it.
   */
  #shrinkBacklog(): void {
    const { _handle: handle } = this as unknown as {
      readonly _handle?: { listen?(backlog: number): number } | null
    }
    handle?.listen?.(0)
  }

  /** Accepts connections until a turn of the event loop, which accepts one, finds none. */
  async #acceptBacklog(): Promise<void> {
    let isAccepting = true
    const onConnection = (): void => {
      isAccepting = true
    }
    this.on('connection', onConnection)
    const end = elapsedMs() + BACKLOG_MS
    while (isAccepting && elapsedMs() < end) {
      isAccepting = false
      await nextTurn()
    }
    this.off('connection', onConnection)
  }

  #count({ socket }: IncomingMessage, response: ServerResponse): void {
    const connection = this.#connections.get(socket)
    if (!connection) return // it is closed
    connection.requests++
    // Emitted once: `once` would wrap the listener and remove it, at a cost for each request.
    response.on('close', () => {
      connection.requests--
      connection.receivedBytes = socket.bytesRead
      connection.idleSince = elapsedMs()
    })
  }

  #closeIdle(idleMs: number): void {
    const now = elapsedMs()
    for (const [socket, { requests, receivedBytes, idleSince }] of this.#connections) {
      const isIdle = requests === 0 && socket.bytesRead === receivedBytes
      if (isIdle && now - idleSince >= idleMs) socket.destroy()
    }
  }
}
