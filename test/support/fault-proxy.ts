import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'

/** Way in which a dependency fails. */
export type FailureMode = (typeof FAILURE_MODES)[number]

/** `cut` passes a request on and closes in the middle of the response; `huge` never ends. */
export const FAILURE_MODES = [
  'refuses',
  'hangs',
  'resets',
  'drips',
  'garbage',
  '429',
  '503',
  'cut',
  'huge',
] as const

const DRIP_MS = 200
const HUGE_BYTES = 1e12
const CHUNK = Buffer.alloc(65_536, ' ')

export interface FaultProxyOptions {
  /** Requests whose responses `cut` cuts. @defaultValue all */
  readonly cuts?: RegExp
}

/** TCP proxy before a dependency, which can be made to fail. */
export class FaultProxy {
  readonly port: number
  readonly #targetPort: number
  readonly #cuts: RegExp
  readonly #sockets = new Set<Socket>()
  #server: Server | undefined
  #mode: FailureMode | undefined

  private constructor(targetPort: number, server: Server, { cuts = /^/ }: FaultProxyOptions) {
    this.#targetPort = targetPort
    this.#cuts = cuts
    this.port = (server.address() as AddressInfo).port
    this.#adopt(server)
  }

  static async start(targetPort: number, options: FaultProxyOptions = {}): Promise<FaultProxy> {
    return new FaultProxy(targetPort, await listen(0), options)
  }

  /** Fails from now on, also on open connections; works again if `mode` is undefined. */
  async fail(mode: FailureMode | undefined): Promise<void> {
    this.#mode = mode
    for (const socket of this.#sockets) socket.destroy()
    if (mode === 'refuses') await this.close()
    else if (!this.#server) this.#adopt(await listen(this.port))
  }

  async close(): Promise<void> {
    const server = this.#server
    this.#server = undefined
    for (const socket of this.#sockets) socket.destroy()
    if (!server) return
    server.close()
    await once(server, 'close')
  }

  #adopt(server: Server): void {
    this.#server = server
    server.on('connection', (socket) => {
      this.#sockets.add(socket)
      socket.on('close', () => this.#sockets.delete(socket)).on('error', () => {})
      if (this.#mode === 'cut') this.#cut(socket)
      else if (this.#mode) socket.once('data', () => fail(socket, this.#mode!))
      else this.#connect(socket).pipe(socket)
    })
  }

  #connect(socket: Socket): Socket {
    const target = connect(this.#targetPort, '127.0.0.1')
    target.on('error', () => socket.destroy()).on('close', () => socket.destroy())
    socket.on('close', () => target.destroy())
    socket.pipe(target)
    return target
  }

  #cut(socket: Socket): void {
    let isCut = false
    socket.on('data', (bytes: Buffer) => (isCut ||= this.#cuts.test(bytes.toString('latin1'))))
    this.#connect(socket).on('data', (bytes: Buffer) => {
      if (isCut) socket.end(bytes.subarray(0, bytes.length / 2))
      else socket.write(bytes)
    })
  }
}

async function listen(port: number): Promise<Server> {
  const server = createServer().listen(port, '127.0.0.1')
  await once(server, 'listening')
  return server
}

function fail(socket: Socket, mode: FailureMode): void {
  if (mode === 'resets') socket.resetAndDestroy()
  else if (mode === 'garbage') socket.end(Buffer.from([0, 255, 13, 10, 0, 36, 255, 13, 10]))
  else if (mode === '429' || mode === '503') {
    const head = `HTTP/1.1 ${mode} Failing\r\nRetry-After: 1\r\nContent-Type: application/json`
    socket.end(`${head}\r\nContent-Length: 2\r\n\r\n{}`)
  } else if (mode === 'drips') {
    socket.write('HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 999\r\n\r\n')
    const timer = setInterval(() => socket.write(' '), DRIP_MS)
    socket.on('close', () => clearInterval(timer))
  } else if (mode === 'huge') {
    const flood = (): void => {
      while (!socket.destroyed && socket.write(CHUNK)) continue
    }
    const type = 'Content-Type: application/json'
    socket.write(`HTTP/1.1 200 OK\r\n${type}\r\nContent-Length: ${HUGE_BYTES}\r\n\r\n`)
    socket.on('drain', flood)
    flood()
  }
}
