import { type DestinationStream, type Logger, pino } from 'pino'

export type Log = Logger

/** Parts of the names of members whose values are secret. */
const NAMES = 'private_?key|secret|password|token|signature|authorization|cookie'

const SECRETS: readonly [RegExp, string][] = [
  [/ahk_[0-9A-Za-z]{8,}/g, 'ahk_[secret]'],
  [/Bearer\s+[^\s"\\]+/gi, 'Bearer [secret]'],
  [/0x[0-9a-fA-F]{130}/g, '0x[signature]'],
  [/whsec_[0-9A-Za-z+/=_-]{8,}/g, 'whsec_[secret]'],
  // JSON in base64, as payments and signed tokens have it.
  [/\beyJ[0-9A-Za-z+/=_-]{32,}(?:\.[0-9A-Za-z_-]+)*/g, '[signed]'],
  [/([?&#](?:code|key)=|\b(?:token|secret|sig|signature|password)=)[^&#\s"\\]+/gi, '$1[secret]'],
  [new RegExp(`("[\\w-]*(?:${NAMES})[\\w-]*":")(?:[^"\\\\]|\\\\.)+`, 'gi'), '$1[secret]'],
  [/(\w:\/\/[^\s/:@"]*:)[^\s/@"]+@/g, '$1[secret]@'],
]

/**
 * Removes whatever looks like a secret from a line of log, wherever in it it stands.
 * @param values secrets that look like nothing in particular, such as a URL with a key in its path
 */
export function scrub(line: string, values: readonly string[] = []): string {
  // The longest first: one may begin with another. In JSON, a value stands escaped.
  const known = values.toSorted((a, b) => b.length - a.length)
  const without = known
    .flatMap((value) => [value, JSON.stringify(value).slice(1, -1)])
    .reduce((text, value) => text.replaceAll(value, '[secret]'), line)
  return SECRETS.reduce((text, [pattern, instead]) => text.replace(pattern, instead), without)
}

/**
 * A logger that writes JSON lines through the scrubber.
 * @param out where lines go; left out: standard error, so that standard output stays free
 * @param secrets values that no line may show, as `Config` lists them
 */
export function createLog(
  level: 'debug' | 'info' | 'warn' | 'error' | 'silent',
  out: { write(text: string): unknown } = process.stderr,
  secrets: readonly string[] = [],
): Log {
  const stream: DestinationStream = { write: (line) => void out.write(scrub(line, secrets)) }
  const serializers = { err: told }
  return pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime, serializers }, stream)
}

/** An error of a pool of connections brings the whole connection along, which says nothing. */
function told(error: unknown): unknown {
  const shown: unknown = pino.stdSerializers.err(error as Error)
  return typeof shown === 'object' && shown !== null ? { ...shown, client: undefined } : shown
}
