import { hash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip, zstdCompress } from 'node:zlib'
import type { Context, Middleware } from 'koa'
import { LRUCache } from 'lru-cache'
import { asBuffer } from '../../core/bytes.ts'

/** Bytes (of text: characters) below which compression gains nothing. */
const LENGTH_MIN = 1_024
/** Text types, except event streams, which are read as they arrive. */
const COMPRESSIBLE =
  /^(?:text\/(?!event-stream)|application\/(?:[\w.+-]+\+)?(?:json|xml|javascript)\b|image\/svg)/i

/** Content codings, in order of preference among those a client accepts equally. */
const CODINGS = {
  zstd: promisify<Buffer, Buffer>(zstdCompress),
  br: (bytes: Buffer) =>
    promisify(brotliCompress)(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } }),
  gzip: promisify<Buffer, Buffer>(gzip),
} as const
type Coding = keyof typeof CODINGS
const NAMES = Object.keys(CODINGS) as Coding[]

/** Gives public responses a strong ETag and 304 (RFC 9110 §13.1.2), and compresses text. */
export const finalizeResponse: Middleware = async (ctx, next) => {
  await next()
  const { body } = ctx
  if (typeof body !== 'string' && !(body instanceof Uint8Array)) return
  const coding = codingFor(ctx, body.length)
  const isTagged = isPublic(ctx) && ctx.status === 200
  if (coding === undefined && !isTagged) return
  const bytes = bytesOf(body)
  if (isTagged) {
    const tag = hash('sha256', bytes, 'base64url').slice(0, 27)
    ctx.set('ETag', coding === undefined ? `"${tag}"` : `"${tag}-${coding}"`)
    if (matchesTag(ctx.get('If-None-Match'), tag)) return notModified(ctx)
  }
  ctx.body = await (isTagged ? encodeOnce(ctx, coding, bytes) : encode(coding, bytes))
  if (coding !== undefined) ctx.set('Content-Encoding', coding)
}

const encode = async (coding: Coding | undefined, bytes: Buffer): Promise<Buffer> =>
  coding === undefined ? bytes : CODINGS[coding](bytes)

/** Encoded public bodies by ETag: each is compressed once and shared by all readers. */
const encodedByTag = new LRUCache<string, Promise<Buffer>>({ max: 500, maxSize: 33_554_432 })
const CACHED_LENGTH_MAX = 2_000_000

function encodeOnce(ctx: Context, coding: Coding | undefined, bytes: Buffer): Promise<Buffer> {
  if (bytes.length > CACHED_LENGTH_MAX) return encode(coding, bytes)
  const tag = ctx.response.get('ETag')
  const known = encodedByTag.get(tag) ?? encode(coding, bytes)
  encodedByTag.set(tag, known, { size: Math.max(1, bytes.length) })
  return known
}

/** Compresses a body (see `isCompressible`) with the coding the client prefers, if any. */
export async function compressBody(
  body: string | Buffer,
  { headers }: IncomingMessage,
): Promise<{ readonly body: string | Buffer; readonly headers: Readonly<Record<string, string>> }> {
  const vary = { Vary: 'Accept-Encoding' }
  const coding = preferredCoding(headers['accept-encoding']?.toString() ?? '')
  if (coding === undefined) return { body, headers: vary }
  const smaller = await CODINGS[coding](bytesOf(body))
  return { body: smaller, headers: { ...vary, 'Content-Encoding': coding } }
}

/** Marks a response as the same for everybody: other sites may read it, and caches may store it. */
export function markPublic(ctx: Context): void {
  ctx.state['shared'] = true
}

const isPublic = (ctx: Context): boolean => ctx.state['shared'] === true

const bytesOf = (body: string | Uint8Array): Buffer =>
  typeof body === 'string' ? Buffer.from(body) : asBuffer(body)

/** True if If-None-Match names this tag. Each coding is a representation with its own tag. */
const matchesTag = (header: string, tag: string): boolean =>
  header.split(',').some((one) => {
    const text = one.trim().replace(/^W\//, '')
    return text === '*' || NAMES.some((name) => text === `"${tag}-${name}"`) || text === `"${tag}"`
  })

function notModified(ctx: Context): void {
  ctx.body = null
  ctx.status = 304
}

function codingFor(ctx: Context, length: number): Coding | undefined {
  if (!isCompressible(ctx.status, length, (name) => ctx.response.get(name))) return undefined
  ctx.vary('Accept-Encoding')
  return preferredCoding(ctx.get('Accept-Encoding'))
}

/** Returns true if a body may be compressed and gains by it. @param header by lower-case name */
export const isCompressible = (
  status: number,
  length: number,
  header: (name: string) => string | undefined,
): boolean =>
  length >= LENGTH_MIN &&
  status !== 206 &&
  COMPRESSIBLE.test(header('content-type') ?? '') &&
  !header('content-encoding') &&
  !/\bno-transform\b/i.test(header('cache-control') ?? '')

/** Returns the coding a client prefers (RFC 9110 §12.5.3); undefined for no coding. */
function preferredCoding(header: string): Coding | undefined {
  if (header === '') return undefined
  const weights = new Map<string, number>()
  for (const item of header.split(',')) {
    const [, name, q = '1'] =
      /^([\w*-]+)(?:\s*;\s*q=([01](?:\.\d{0,3})?))?$/i.exec(item.trim()) ?? []
    if (name !== undefined) weights.set(name.toLowerCase(), Number(q))
  }
  const weigh = (name: string): number => weights.get(name) ?? weights.get('*') ?? 0
  const [best] = NAMES.filter((name) => weigh(name) > 0).toSorted((a, b) => weigh(b) - weigh(a))
  const plain = weights.get('identity') ?? 0
  return best !== undefined && weigh(best) >= plain ? best : undefined
}
