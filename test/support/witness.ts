import { createHash, generateKeyPairSync, type KeyObject, sign, verify } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { RFC9162 } from '@transmute/rfc9162'

interface Log {
  readonly key: KeyObject
  size: number
  root: string
}

type Response = readonly [status: number, body?: string, type?: string]

const SIZE_TYPE = 'text/x.tlog.size'
const REQUEST = /^old (0|[1-9]\d*)\n((?:[A-Za-z0-9+/]{43}=\n){0,63})\n([\s\S]+)$/

/**
 * Witness as C2SP tlog-witness specifies it: over HTTP, with no code of the hub. Verifies
 * consistency with `@transmute/rfc9162`.
 */
export class TestWitness {
  readonly name: string
  /** Its verifier key. */
  readonly vkey: string
  readonly logs = new Map<string, Log>()
  /** Requests answered so far, by status. */
  readonly statuses: number[] = []
  /** Replaces the next responses; `hang` sends none until the witness is closed. */
  fault: 'none' | 'lose' | 'hang' | 'garbage' | number = 'none'
  readonly #id: Buffer
  readonly #key: KeyObject
  #server: Server | undefined

  constructor(name: string) {
    const { privateKey, publicKey } = generateKeyPairSync('ed25519')
    const { x = '' } = publicKey.export({ format: 'jwk' })
    const bytes = Buffer.concat([Buffer.of(4), Buffer.from(x, 'base64url')])
    const id = createHash('sha256').update(`${name}\n`).update(bytes).digest().subarray(0, 4)
    this.name = name
    this.#key = privateKey
    this.#id = id
    this.vkey = `${name}+${id.toString('hex')}+${bytes.toString('base64')}`
  }

  async listen(): Promise<string> {
    this.#server = createServer((request, response) => {
      void this.#respond(request, response)
    }).listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/w/`
  }

  close(): void {
    this.#server?.closeAllConnections()
    this.#server?.close()
  }

  async #respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await text(request)
    if (this.fault === 'hang') return
    const isAsked = request.method === 'POST' && request.url === '/w/add-checkpoint'
    const [status, answer, type] = isAsked ? await this.#add(body) : ([404] as Response)
    this.statuses.push(status)
    if (this.fault === 'lose') response.destroy()
    else response.writeHead(status, { 'content-type': type ?? 'text/plain' }).end(answer ?? '')
  }

  async #add(request: string): Promise<Response> {
    if (typeof this.fault === 'number') return [this.fault]
    const [, old, lines = '', note = ''] = REQUEST.exec(request) ?? []
    const end = note.indexOf('\n\n')
    const body = note.slice(0, end + 1)
    const [origin = '', count, root = ''] = body.split('\n')
    const log = this.logs.get(origin)
    if (old === undefined || end < 0) return [400]
    if (!log) return [404]
    const signatures = note
      .slice(end + 2)
      .split('\n')
      .filter((line) => line.startsWith(`— ${origin} `))
      .map((line) => Buffer.from(line.split(' ')[2]!, 'base64').subarray(4))
    if (!signatures.some((each) => verify(null, Buffer.from(body), log.key, each))) return [403]
    const [before, size] = [Number(old), Number(count)]
    if (before > size) return [400]
    if (before !== log.size) return [409, `${log.size}\n`, SIZE_TYPE]
    if (before === size && log.root !== root) return [409]
    const proof = lines.split('\n').slice(0, -1)
    if (!(await isConsistent({ size, root }, log, proof))) return [422]
    Object.assign(log, { size, root })
    return [200, this.fault === 'garbage' ? '— x AAAA\n' : this.#cosign(body)]
  }

  #cosign(body: string): string {
    const time = Buffer.alloc(8)
    time.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 1_000)))
    const message = `cosignature/v1\ntime ${time.readBigUInt64BE()}\n${body}`
    const signature = sign(null, Buffer.from(message), this.#key)
    return `— ${this.name} ${Buffer.concat([this.#id, time, signature]).toString('base64')}\n`
  }
}

async function isConsistent(
  newer: Pick<Log, 'size' | 'root'>,
  older: Pick<Log, 'size' | 'root'>,
  proof: readonly string[],
): Promise<boolean> {
  if (older.size === 0 || older.size === newer.size) return proof.length === 0
  const [first, second] = [older.root, newer.root].map((root) => Buffer.from(root, 'base64'))
  const path = proof.map((hash) => Buffer.from(hash, 'base64'))
  // The package expects the root of a perfect tree in the path, which RFC 9162 leaves out.
  if (Number.isInteger(Math.log2(older.size))) path.unshift(first!)
  return RFC9162.verifyConsistencyProof(first!, second!, {
    log_id: '',
    tree_size_1: older.size,
    tree_size_2: newer.size,
    consistency_path: path,
  })
}
