import { type DestinationStream, type Logger, pino } from 'pino'

export type Log = Logger

/** Member names that contain one of these have secret values. */
const SECRET_NAMES = 'private_?key|secret|password|token|signature|authorization|cookie'

const SECRET_PATTERNS: readonly [RegExp, string][] = [
  [/ahk_[0-9A-Za-z]{8,}/g, 'ahk_[secret]'],
  [/Bearer\s+[^\s"\\]+/gi, 'Bearer [secret]'],
  [/0x[0-9a-fA-F]{130}/g, '0x[signature]'],
  [/whsec_[0-9A-Za-z+/=_-]{8,}/g, 'whsec_[secret]'],
  // Base64-encoded JSON, as in payments and signed tokens.
  [/\beyJ[0-9A-Za-z+/=_-]{32,}(?:\.[0-9A-Za-z_-]+)*/g, '[signed]'],
  [/([?&#](?:code|key)=|\b(?:token|secret|sig|signature|password)=)[^&#\s"\\]+/gi, '$1[secret]'],
  [
    new RegExp(`("[\\w-]{0,40}(?:${SECRET_NAMES})[\\w-]{0,40}":")(?:[^"\\\\]|\\\\.)+`, 'gi'),
    '$1[secret]',
  ],
  [/(\w:\/\/[^\s/:@"]*:)[^\s/@"]+@/g, '$1[secret]@'],
]

/** Removes secrets anywhere in a log line: known formats, and the given `values`. */
export function scrub(line: string, values: readonly string[] = []): string {
  // Longest first, because one value may be the prefix of another. In JSON, values are escaped.
  const known = values.toSorted((a, b) => b.length - a.length)
  const without = known
    .flatMap((value) => [value, JSON.stringify(value).slice(1, -1)])
    .reduce((text, value) => text.replaceAll(value, '[secret]'), line)
  return SECRET_PATTERNS.reduce(
    (text, [pattern, instead]) => text.replace(pattern, instead),
    without,
  )
}

/**
 * Creates a logger that writes scrubbed JSON lines.
 * @param out destination; default: standard error, so that standard output stays free
 * @param secrets values to remove from lines, as in `Config.secrets`
 */
export function createLog(
  level: 'debug' | 'info' | 'warn' | 'error' | 'silent',
  out: { write(text: string): unknown } = process.stderr,
  secrets: readonly string[] = [],
): Log {
  const listeners = new Set<LineListener>()
  const write = (text: string): void => {
    const line = scrub(text, secrets)
    out.write(line)
    for (const listener of listeners) listener(line)
  }
  const stream: DestinationStream = { write }
  const serializers = { err: serializeError }
  const log = pino(
    { level, base: { pid: process.pid }, timestamp: pino.stdTimeFunctions.isoTime, serializers },
    stream,
  )
  listenersOf.set(log, listeners)
  return log
}

type LineListener = (line: string) => void
const listenersOf = new WeakMap<Log, Set<LineListener>>()

/**
 * Calls `listener` with each scrubbed line that a logger of `createLog` writes.
 * @returns a function that ends it
 */
export function onLogLine(log: Log, listener: LineListener): () => void {
  const listeners = listenersOf.get(log)
  listeners?.add(listener)
  return () => void listeners?.delete(listener)
}

/** Serializes an error without its `client`: pool errors carry the whole connection. */
function serializeError(error: unknown): unknown {
  const fields: unknown = pino.stdSerializers.err(error as Error)
  return typeof fields === 'object' && fields !== null ? { ...fields, client: undefined } : fields
}
