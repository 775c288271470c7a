import { isUtf8 } from 'node:buffer'
import type { Readable } from 'node:stream'
import { unrefSleep } from '../../core/clock.ts'
import { STORED_BYTES_MAX } from '../../core/usage/stored-responses.ts'
import type { HttpResponse } from './http-response.ts'
import { discardBody, ResponseStream } from './response-stream.ts'

/** Maximum length of the beginning of a stream; longer ones are not stored either. */
const STREAM_BYTES_MAX = STORED_BYTES_MAX
const STREAM_MS = 50_000

/** Reads a stream up to 1 MiB and for 50 s, without a partial character, and discards the rest. */
export async function readStreamStart(
  stream: Readable,
): Promise<{ readonly bytes: Buffer; readonly whole: boolean }> {
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
    unrefSleep(STREAM_MS).then(() => false),
  ])
  if (!whole) discardBody(stream)
  const bytes = Buffer.concat(chunks)
  return { bytes: whole ? bytes : trimPartialCharacter(bytes.subarray(0, STREAM_BYTES_MAX)), whole }
}

/** Removes an incomplete UTF-8 character at the end. */
export function trimPartialCharacter<Bytes extends Uint8Array>(bytes: Bytes): Bytes {
  for (const cut of [0, 1, 2, 3]) {
    const shorter = bytes.subarray(0, bytes.length - cut) as Bytes
    if (isUtf8(shorter)) return shorter
  }
  return bytes
}

/** Returns the headers of a response and the trailers of a stream that was read to its end. */
export const headersAndTrailers = ({ headers, body }: HttpResponse): HttpResponse['headers'] =>
  body instanceof ResponseStream ? { ...headers, ...body.trailers } : headers
