import type { Readable } from 'node:stream'
import { elapsedMs, sleep } from '../clock.ts'
import { MESSAGE_MAX } from './limits.ts'

/** Messages over pipes: four bytes say how many follow. */
const HEAD = 4

export function frame(text: string): Buffer {
  const bytes = Buffer.from(text)
  const head = Buffer.alloc(HEAD)
  head.writeUInt32BE(bytes.length)
  return Buffer.concat([head, bytes])
}

/** What reading may cost in a second: bytes, and as good as 4 KiB for each message. */
const COST_A_SECOND = 32 * 1_048_576
const COST_OF_MESSAGE = 4_096
const SECOND_MS = 1_000

/**
 * Reads messages until the pipe ends. Whoever sends more than its reader can afford is read slowly:
 * it waits for the reader, and nobody else does.
 * @throws Error for a message that is too long
 */
export async function readFrames(from: Readable, onText: (text: string) => void): Promise<void> {
  let parts: Buffer[] = []
  let size = 0
  let needed = HEAD
  let cost = 0
  let renewed = elapsedMs()
  for await (const chunk of from as AsyncIterable<Buffer>) {
    parts.push(chunk)
    size += chunk.length
    cost += chunk.length
    if (size >= needed) {
      const { messages, rest } = split(parts.length === 1 ? chunk : Buffer.concat(parts))
      for (const text of messages) onText(text)
      cost += messages.length * COST_OF_MESSAGE
      parts = [rest]
      size = rest.length
      needed = rest.length < HEAD ? HEAD : HEAD + rest.readUInt32BE()
    }
    const passed = elapsedMs() - renewed
    if (cost > COST_A_SECOND && passed < SECOND_MS) await sleep(SECOND_MS - passed)
    if (passed < SECOND_MS && cost <= COST_A_SECOND) continue
    renewed = elapsedMs()
    cost = 0
  }
}

/** The messages that are whole, and what is left. */
function split(bytes: Buffer): { readonly messages: readonly string[]; readonly rest: Buffer } {
  const messages: string[] = []
  let at = 0
  while (bytes.length - at >= HEAD) {
    const length = bytes.readUInt32BE(at)
    if (length > MESSAGE_MAX) throw new Error(`a message of ${length} bytes`)
    const end = at + HEAD + length
    if (end > bytes.length) break
    messages.push(bytes.toString('utf8', at + HEAD, end))
    at = end
  }
  return { messages, rest: bytes.subarray(at) }
}
