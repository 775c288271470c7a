import { isUtf8 } from 'node:buffer'
import { Readable } from 'node:stream'
import { patience } from '../../core/clock.ts'
import type { JsonObject } from '../../core/json.ts'
import type { Reply } from '../proxy/call.ts'
import { discard } from '../proxy/discard.ts'

/** Which part of a long answer is wanted, in characters. */
export interface Slice {
  readonly offset?: number | undefined
  readonly max_chars?: number | undefined
}

/** About 6,000 tokens: clients warn above 10,000. */
export const CHARS = 20_000
export const CHARS_MAX = 100_000
const STREAM_BYTES_MAX = 1_048_576
const STREAM_MS = 50_000

/** An answer, as much of it as an agent can read: whole if it is short, else a part as text. */
export async function bodyOf({ headers, body }: Reply, slice: Slice): Promise<JsonObject> {
  const type = typeOf(headers)
  if (body instanceof Readable) {
    const { bytes, whole } = await collect(body)
    return { ...shown(bytes, type, slice), ...(whole ? {} : { incomplete: true, note: NOT_KEPT }) }
  }
  return shown(body, type, slice)
}

function shown(
  body: unknown,
  type: string,
  { offset = 0, max_chars: chars = CHARS }: Slice,
): JsonObject {
  if (body instanceof Uint8Array && !isUtf8(body)) {
    return { content_type: type, bytes: body.length, note: BINARY }
  }
  const text = body instanceof Uint8Array ? Buffer.from(body).toString('utf8') : undefined
  const value = text === undefined ? body : parsed(text, type)
  const whole = typeof value === 'string' ? value : JSON.stringify(value ?? null)
  if (offset === 0 && whole.length <= chars) {
    return { ...(typeof value === 'string' && { content_type: type }), body: value ?? null }
  }
  const end = offset + chars
  return {
    content_type: type,
    body: whole.slice(offset, end),
    total_chars: whole.length,
    ...(end < whole.length ? { truncated: true, next_offset: end, next: READ_ON } : {}),
  }
}

const READ_ON =
  'For more call again with the same arguments, this idempotency_key and offset = next_offset: ' +
  'it costs nothing.'
const BINARY =
  'Not text. Fetch it over HTTP from the proxy with the same input and this Idempotency-Key: ' +
  'it costs nothing.'
const NOT_KEPT = 'The answer is a stream that broke off or is too long: this is its beginning.'

const typeOf = (headers: Reply['headers']): string =>
  Object.entries(headers).find(([name]) => name.toLowerCase() === 'content-type')?.[1] ??
  'application/json'

/** JSON where its type says so, and it is. */
export function parsed(text: string, type: string): unknown {
  if (!/[/+]json\b/i.test(type)) return text
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** As much of a stream as is shown; the rest is let go of. */
async function collect(stream: Readable): Promise<{ bytes: Buffer; whole: boolean }> {
  const chunks: Buffer[] = []
  let size = 0
  const all = async (): Promise<boolean> => {
    for await (const chunk of stream) {
      const bytes = Buffer.from(chunk as Uint8Array)
      chunks.push(bytes)
      size += bytes.length
      if (size > STREAM_BYTES_MAX) return false
    }
    return true
  }
  const whole = await Promise.race([
    all().catch(() => false),
    patience(STREAM_MS).then(() => false),
  ])
  if (!whole) discard(stream)
  return { bytes: whole ? Buffer.concat(chunks) : wellFormed(Buffer.concat(chunks)), whole }
}

/** Without the part of a character that the cut has left at the end. */
function wellFormed(bytes: Buffer): Buffer {
  for (const cut of [0, 1, 2, 3]) {
    const shorter = bytes.subarray(0, bytes.length - cut)
    if (isUtf8(shorter)) return shorter
  }
  return bytes
}
