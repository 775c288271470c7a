import { isUtf8 } from 'node:buffer'
import { Readable } from 'node:stream'
import { type JsonObject, parseJsonOrText } from '../../core/json.ts'
import { isStorable, STORED_BYTES_MAX } from '../../core/usage/stored-responses.ts'
import type { HttpResponse } from '../http/http-response.ts'
import { readStreamStart, trimPartialCharacter } from '../http/stream-start.ts'
import { asData } from './third-party.ts'

/** Part of a long body, in characters. */
export interface BodySlice {
  readonly offset?: number | undefined
  readonly max_chars?: number | undefined
}

/** About 6,000 tokens; clients warn above 10,000. */
export const DEFAULT_CHARS = 20_000
export const MAX_CHARS = 100_000
/** Returns true if an agent can obtain a body: as text, or from the proxy if it is stored. */
export function isObtainable(body: unknown, isWhole = true): boolean {
  if (!(body instanceof Uint8Array)) return true
  if (!isWhole) return isUtf8(trimPartialCharacter(body))
  return body.length <= STORED_BYTES_MAX || isUtf8(body)
}

/** Longer JSON is returned as sent: parsing it would hold the event loop. */
const PARSED_CHARS_MAX = 1_048_576

/** Returns a body for an agent: complete if it is short, otherwise the requested part as text. */
export async function readBody(
  { headers, body }: HttpResponse,
  slice: BodySlice,
): Promise<JsonObject> {
  const type = typeOf(headers)
  if (body instanceof Readable) {
    const { bytes, whole } = await readStreamStart(body)
    return {
      ...sliceBody(bytes, type, slice, whole),
      ...(whole ? {} : { incomplete: true, note: INCOMPLETE }),
    }
  }
  return sliceBody(body, type, slice, true)
}

function sliceBody(
  body: unknown,
  type: string,
  { offset = 0, max_chars: chars = DEFAULT_CHARS }: BodySlice,
  isWhole: boolean,
): JsonObject {
  const isStored = () => isWhole && isStorable(body)
  if (body instanceof Uint8Array && !isUtf8(body)) {
    const note = isStored() ? BINARY : BINARY_NOT_STORED
    return { content_type: type, bytes: body.length, note }
  }
  const text = body instanceof Uint8Array ? Buffer.from(body).toString('utf8') : undefined
  const isParsed = text !== undefined && text.length <= PARSED_CHARS_MAX
  const value = isParsed ? parseJsonText(text, type) : (text ?? body)
  const whole = typeof value === 'string' ? value : JSON.stringify(value ?? null)
  if (offset === 0 && whole.length <= chars) {
    const data = asData({ body: value ?? null })
    return { ...(typeof value === 'string' && { content_type: type }), ...data }
  }
  const end = offset + chars
  return {
    content_type: type,
    ...asData({ body: whole.slice(offset, end) }),
    total_chars: whole.length,
    ...(end < whole.length && {
      truncated: true,
      ...(isStored() ? { next_offset: end, next: READ_ON } : { next: NOT_STORED }),
    }),
  }
}

const READ_ON =
  'To read on, call again with the same arguments, this idempotency_key and ' +
  'offset = next_offset. It is free.'
const NOT_STORED =
  'The rest cannot be read: only complete responses of at most 1 MiB are stored. A new call over ' +
  'HTTP, from the proxy, returns all of it and is charged again.'
const BINARY =
  'Not text. Fetch it over HTTP from the proxy with the same input and this Idempotency-Key. ' +
  'It is free.'
const BINARY_NOT_STORED =
  'Not text, and not stored: only complete responses of at most 1 MiB are. A new call over HTTP, ' +
  'from the proxy, returns it and is charged again.'
const INCOMPLETE = 'The stream was interrupted or is too long. This is its beginning.'

/** Returns the media type, with a plain charset but without other parameters of the service. */
function typeOf(headers: HttpResponse['headers']): string {
  const type = Object.entries(headers).find(([name]) => name.toLowerCase() === 'content-type')?.[1]
  if (type === undefined) return 'application/json'
  return MEDIA_TYPE.exec(type)?.[0] ?? 'application/octet-stream'
}
const MEDIA_TYPE = /^[\w.+-]{1,60}\/[\w.+-]{1,60}(?:; ?charset=[\w-]{1,20}(?=;|$))?/i

/** Parses text of a JSON type; returns any other text, or invalid JSON, unchanged. */
export const parseJsonText = (text: string, type: string): unknown =>
  /[/+]json\b/i.test(type) ? parseJsonOrText(text) : text
