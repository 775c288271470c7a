import { type DestinationStream, type Logger, pino } from 'pino'

export type Log = Logger

const SECRETS: readonly [RegExp, string][] = [
  [/ahk_[0-9A-Za-z]{8,}/g, 'ahk_[secret]'],
  [/Bearer\s+[^\s"\\]+/gi, 'Bearer [secret]'],
  [/0x[0-9a-fA-F]{130}/g, '0x[signature]'],
  [/("[\w-]*(?:private_?key|secret|password|token)[\w-]*":")(?:[^"\\]|\\.)+/gi, '$1[secret]'],
  [/(\w:\/\/[^\s/:@"]*:)[^\s/@"]+@/g, '$1[secret]@'],
]

/** Removes whatever looks like a secret from a line of log, wherever in it it stands. */
export const scrub = (line: string): string =>
  SECRETS.reduce((text, [pattern, instead]) => text.replace(pattern, instead), line)

/**
 * A logger that writes JSON lines through the scrubber.
 * @param out where lines go; left out: standard error, so that standard output stays free
 */
export function createLog(
  level: 'debug' | 'info' | 'warn' | 'error' | 'silent',
  out: { write(text: string): unknown } = process.stderr,
): Log {
  const stream: DestinationStream = { write: (line) => void out.write(scrub(line)) }
  return pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, stream)
}
