import { elapsedMs } from '../clock.ts'
import type { Host } from '../plugin/index.ts'

const LINES_A_SECOND = 20
const BURST = 200
const TEXT_MAX = 2_000
const FIELDS_MAX = 4_000

/**
 * A log that cannot be flooded: lines beyond 20 a second (200 at once) are counted, not written,
 * and long ones are cut.
 */
export function limitedLog(log: Host['log']): Host['log'] {
  let room = BURST
  let at = elapsedMs()
  let dropped = 0
  return (message, fields) => {
    const now = elapsedMs()
    room = Math.min(BURST, room + ((now - at) / 1_000) * LINES_A_SECOND)
    at = now
    if (room < 1) {
      dropped += 1
      return
    }
    room -= 1
    const kept = fields && fieldsOf(fields)
    log(
      textOf(message).slice(0, TEXT_MAX),
      dropped > 0 ? { ...kept, dropped_before: dropped } : kept,
    )
    dropped = 0
  }
}

/** Whatever its type says, a plugin may have given anything. */
const textOf = (message: unknown): string => String(message)

function fieldsOf(fields: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  try {
    const text = JSON.stringify(fields, (_, value: unknown) =>
      typeof value === 'bigint' ? String(value) : value,
    )
    return text.length <= FIELDS_MAX ? fields : { cut: text.slice(0, FIELDS_MAX) }
  } catch {
    return { cut: 'not as JSON' }
  }
}
