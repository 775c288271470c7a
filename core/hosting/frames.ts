import type { Readable } from 'node:stream'
import { elapsedMs, sleep } from '../clock.ts'
import { MESSAGE_MAX } from './limits.ts'

/** Length of the frame header: the size of the message, 32 bits big-endian. */
const HEADER_BYTES = 4

export function encodeFrame(text: string): Buffer {
  const bytes = Buffer.from(text)
  const head = Buffer.alloc(HEADER_BYTES)
  head.writeUInt32BE(bytes.length)
  return Buffer.concat([head, bytes])
}

/** Read budget per second: bytes, plus 4 KiB for each message. */
const COST_PER_SECOND = 32 * 1_048_576
const COST_PER_MESSAGE = 4_096
const SECOND_MS = 1_000

/**
 * Reads messages until the pipe ends. Pauses when the read budget is used up, so that a flooding
 * sender delays only itself.
 * @throws Error for a message that is too long
 */
export async function readFrames(from: Readable, onText: (text: string) => void): Promise<void> {
  let parts: Buffer[] = []
  let size = 0
  let needed = HEADER_BYTES
  let cost = 0
  let renewed = elapsedMs()
  for await (const chunk of from as AsyncIterable<Buffer>) {
    parts.push(chunk)
    size += chunk.length
    cost += chunk.length
    if (size >= needed) {
      const { messages, rest } = split(parts.length === 1 ? chunk : Buffer.concat(parts))
      for (const text of messages) onText(text)
      cost += messages.length * COST_PER_MESSAGE
      parts = [rest]
      size = rest.length
      needed = rest.length < HEADER_BYTES ? HEADER_BYTES : HEADER_BYTES + rest.readUInt32BE()
    }
    const passed = elapsedMs() - renewed
    if (cost > COST_PER_SECOND && passed < SECOND_MS) await sleep(SECOND_MS - passed)
    if (passed < SECOND_MS && cost <= COST_PER_SECOND) continue
    renewed = elapsedMs()
    cost = 0
  }
}

/** Splits bytes into complete messages and the rest. */
function split(bytes: Buffer): { readonly messages: readonly string[]; readonly rest: Buffer } {
  const messages: string[] = []
  let at = 0
  while (bytes.length - at >= HEADER_BYTES) {
    const length = bytes.readUInt32BE(at)
    if (length > MESSAGE_MAX) throw new Error(`a message of ${length} bytes`)
    const end = at + HEADER_BYTES + length
    if (end > bytes.length) break
    messages.push(bytes.toString('utf8', at + HEADER_BYTES, end))
    at = end
  }
  return { messages, rest: bytes.subarray(at) }
}
