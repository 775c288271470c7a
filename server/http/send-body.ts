import type { ServerResponse } from 'node:http'
import { pipeline, Readable } from 'node:stream'
import type { Context } from 'koa'
import { asBuffer } from '../../core/bytes.ts'
import type { ConnectionGuard } from './connection-guard.ts'

/** Longer bodies are written in pieces, so that the guard sees how fast a client reads. */
const PIECE_BYTES = 65_536
/** Node writes the headers and a body up to this length as one string: 2 µs of CPU less. */
const STRING_BYTES = 4_096

type Connections = Pick<ConnectionGuard, 'admit'>

/** Ends a response with a body, after its headers. */
export function sendBody(
  res: ServerResponse,
  body: string | Buffer | undefined,
  connections: Connections,
): void {
  if (body === undefined || body.length <= PIECE_BYTES) {
    // Latin-1 stands for any bytes, one for each.
    if (typeof body !== 'object' || body.length > STRING_BYTES) return void res.end(body)
    return void res.end(body.toString('latin1'), 'latin1')
  }
  const bytes = typeof body === 'string' ? Buffer.from(body) : body
  connections.admit(res, bytes.length)
  pipeline(readPieces(bytes), res, () => undefined)
}

/** Lets Koa write a long body in pieces. */
export function splitBody(ctx: Context, connections: Connections): void {
  const { body } = ctx
  if (typeof body !== 'string' && !(body instanceof Uint8Array)) return
  if (body.length <= PIECE_BYTES || ctx.method === 'HEAD') return
  const bytes = typeof body === 'string' ? Buffer.from(body) : asBuffer(body)
  connections.admit(ctx.res, bytes.length)
  ctx.body = readPieces(bytes)
  ctx.length = bytes.length
}

const readPieces = (bytes: Buffer): Readable =>
  Readable.from(piecesOf(bytes), { objectMode: false })

function* piecesOf(bytes: Buffer): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
    yield bytes.subarray(at, at + PIECE_BYTES)
  }
}
