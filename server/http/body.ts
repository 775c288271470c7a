import type { IncomingMessage } from 'node:http'
import { Fault } from '../../core/errors.ts'
import type { JsonObject } from '../../core/json.ts'
import { readSingleHeader } from './exchange.ts'

/** Maximum body size: 50 KB of text with every character escaped, and some room. */
export const BODY_BYTES_MAX = 512 * 1_024
/** Declared size up to which a body that is too large is read before it is refused. */
const DROPPED_BYTES_MAX = 16 * 1_048_576
/** Maximum time to read a body that is too large. */
const DROP_MS = 5_000
const DEPTH_MAX = 64
/** Maximum members of all objects of a body: the names of larger ones take long to sort. */
export const MEMBERS_MAX = 10_000
/** Maximum objects and lists in a body. */
export const CONTAINERS_MAX = 30_000
/** Maximum fields of a form. */
export const FIELDS_MAX = 1_000
const FORBIDDEN_KEYS: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype'])

/**
 * Reads a JSON body. Returns undefined for an empty one.
 * @throws Fault `unsupported_media_type`, `unsupported_content_encoding`, `body_too_large`,
 * `malformed_json`, `json_too_deep`, `duplicate_member`, `duplicate_header` (two types),
 * `validation_failed` (a key that would touch a prototype), `caller_gone` when the connection ends
 * before the body does
 */
export async function readJson(request: IncomingMessage): Promise<unknown> {
  const bytes = await readUnencoded(request)
  if (bytes.length === 0) return undefined
  if (!isJsonType(readSingleHeader({ req: request }, 'content-type')))
    throw new Fault('unsupported_media_type')
  return parseJson(bytes)
}

/** Reads the bytes of a body. @throws Fault as `readJson` does */
export function readUnencoded(request: IncomingMessage): Promise<Buffer> {
  const encoding = request.headers['content-encoding'] ?? 'identity'
  if (encoding.toLowerCase() !== 'identity') throw new Fault('unsupported_content_encoding')
  const declared = Number(request.headers['content-length'] ?? 0)
  if (declared > DROPPED_BYTES_MAX) throw tooLarge(declared)
  return readBytes(request, declared)
}

/**
 * Collects the chunks of a request by events, which is much faster than async iteration. A body
 * that is too large is read and dropped for a while before it is refused: many clients and proxies
 * read the response only after they have sent all, and lose it if the connection closes before.
 */
function readBytes(request: IncomingMessage, declared: number): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
  const chunks: Buffer[] = []
  let size = 0
  let isTooLarge = false
  const refuse = (): void => reject(tooLarge(Math.max(size, declared)))
  const drop = (): void => {
    isTooLarge = true
    setTimeout(refuse, DROP_MS).unref()
  }
  if (declared > BODY_BYTES_MAX) drop()
  request.on('data', (chunk: Buffer) => {
    size += chunk.length
    if (isTooLarge) return
    if (size <= BODY_BYTES_MAX) chunks.push(chunk)
    else drop()
  })
  // Not `once`, which would wrap and remove the listeners of events that come once anyway.
  request.on('end', () => {
    if (isTooLarge) refuse()
    else resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks))
  })
  request.on('error', (cause) => reject(new Fault('caller_gone', undefined, { cause })))
  if (request.destroyed) reject(new Fault('caller_gone'))
  return promise
}

const tooLarge = (actual: number): Fault =>
  new Fault('body_too_large', undefined, {
    extras: { limit_bytes: BODY_BYTES_MAX, actual_bytes: actual },
    headers: { Connection: 'close' },
  })

export const tooMany = (what: string, limit: number): Fault =>
  new Fault('body_too_large', `The body has too many ${what}: at most ${limit} are permitted.`, {
    extras: { [`limit_${what.replaceAll(' ', '_')}`]: limit },
  })

function isJsonType(type = ''): boolean {
  const match = /^application\/(?:[\w.-]+\+)?json\s*(?:;\s*charset=("?)([\w-]+)\1\s*)?$/i.exec(type)
  return match !== null && (match[2] ?? 'utf-8').toLowerCase() === 'utf-8'
}

/** Keeps a byte order mark, which is no JSON (RFC 8259 §8.1). */
const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function parseJson(bytes: Buffer): unknown {
  let text: string
  let value: unknown
  try {
    text = UTF8.decode(bytes)
    const { depth, members, containers } = scanJson(text)
    if (depth > DEPTH_MAX) throw new Fault('json_too_deep')
    if (members > MEMBERS_MAX) throw tooMany('members', MEMBERS_MAX)
    if (containers > CONTAINERS_MAX) throw tooMany('objects and lists', CONTAINERS_MAX)
    value = JSON.parse(text)
    if (members > 1 && members !== countMembers(value)) throw new Fault('duplicate_member')
  } catch (error) {
    if (error instanceof Fault) throw error
    throw new Fault('malformed_json', undefined, { cause: error })
  }
  if (MAY_HAVE_FORBIDDEN_KEY.test(text)) rejectForbiddenKeys(value)
  return value
}

/** Matches text that may contain a forbidden key, possibly escaped. Most bodies skip the walk. */
const MAY_HAVE_FORBIDDEN_KEY = /__proto__|constructor|prototype|\\u/

const CHAR = {
  quote: 0x22,
  backslash: 0x5c,
  bracket: 0x5b,
  bracketEnd: 0x5d,
  brace: 0x7b,
  braceEnd: 0x7d,
  colon: 0x3a,
} as const

interface JsonSize {
  /** Deepest nesting. */
  readonly depth: number
  readonly members: number
  /** Number of objects and lists. */
  readonly containers: number
}

/**
 * Measures a JSON text without parsing it: parsers recurse, take long for many names, and drop
 * members of the same name.
 */
function scanJson(text: string): JsonSize {
  let members = 0
  let containers = 0
  let depth = 0
  let deepest = 0
  let inString = false
  for (let i = 0; i < text.length; i++) {
    const char = text.charCodeAt(i)
    if (inString) {
      if (char === CHAR.backslash) i++
      else if (char === CHAR.quote) inString = false
    } else if (char === CHAR.quote) inString = true
    else if (char === CHAR.brace || char === CHAR.bracket) {
      containers++
      deepest = Math.max(deepest, ++depth)
    } else if (char === CHAR.braceEnd || char === CHAR.bracketEnd) depth--
    else if (char === CHAR.colon) members++
  }
  return { depth: deepest, members, containers }
}

/** Counts the members of all objects in a value. */
function countMembers(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  let count = 0
  if (Array.isArray(value)) {
    for (const each of value) count += countMembers(each)
    return count
  }
  // Parsed JSON inherits no enumerable members; lists of names or values would cost twice as much.
  for (const name in value) count += 1 + countMembers((value as JsonObject)[name])
  return count
}

/** @throws Fault `validation_failed` for a key that would touch a prototype */
export function rejectForbiddenKeys(value: unknown): void {
  if (typeof value !== 'object' || value === null) return
  for (const [key, inner] of Object.entries(value)) {
    if (FORBIDDEN_KEYS.has(key) && !Array.isArray(value)) {
      throw new Fault('validation_failed', `The key "${key}" is not allowed.`)
    }
    rejectForbiddenKeys(inner)
  }
}
