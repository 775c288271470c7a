import type { ParseArgsOptionsConfig } from 'node:util'
import type { Pool } from 'pg'
import type { Ledger } from '../../core/ledger/ledger.ts'

/** Writes text to standard output. Its result is awaited before the next write. */
export type Write = (text: string) => unknown

/** Dependencies of a command. The database is opened on first use. */
export interface CommandContext {
  readonly pool: () => Promise<Pool>
  readonly ledger: () => Promise<Ledger>
  readonly write: Write
  /** Data directory of the hub; undefined if the command has none. */
  readonly dataDir?: string | undefined
  /** Writes progress and advice, which are not part of the output. */
  readonly log: Write
}

export type OptionValues = Readonly<
  Record<string, string | boolean | readonly string[] | undefined>
>

export interface Command {
  /** Arguments as the help shows them, such as `--at INSTANT [--json]`. */
  readonly usage: string
  readonly description: string
  readonly options: ParseArgsOptionsConfig
  /** Maximum number of positional arguments. @defaultValue 0 */
  readonly words?: number
  /** Runs the command. @returns the exit code @throws UsageError */
  run(context: CommandContext, values: OptionValues, words: readonly string[]): Promise<number>
}

/** Arguments that make no sense; the message says what is expected. Exit code 2. */
export class UsageError extends Error {
  override readonly name = 'Misuse'
}

export const EXIT_FAILED = 1

/** Returns a required option or argument. @throws UsageError if it is missing or empty */
export function required(value: OptionValues[string], name: string): string {
  if (typeof value !== 'string' || value.trim() === '') throw new UsageError(`${name} is required`)
  return value
}

export const optional = (value: OptionValues[string]): string | undefined =>
  typeof value === 'string' ? value : undefined

/** Parses `2026-11` (first day), `2026-11-21` (UTC) or ISO 8601 with a zone. @throws UsageError */
export function parseInstant(text: string): Date {
  const full = /^\d{4}-\d{2}$/.test(text) ? `${text}-01` : text
  const isInstant =
    /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,6})?)?(?:Z|[+-]\d{2}:\d{2}))?$/
  const date = new Date(full)
  const exists = isInstant.test(full) && !Number.isNaN(date.getTime())
  if (!exists) {
    throw new UsageError(`not an instant: ${text} (write 2026-11, 2026-11-21 or 2026-11-21T08:00Z)`)
  }
  return date
}

/** Parses a month such as `2026-11` as a half-open period. @throws UsageError */
export function parseMonth(text: string): { readonly from: Date; readonly to: Date } {
  if (!/^\d{4}-(?:0[1-9]|1[0-2])$/.test(text)) throw new UsageError(`not a month: ${text}`)
  const from = parseInstant(text)
  return { from, to: new Date(Date.UTC(from.getUTCFullYear(), from.getUTCMonth() + 1)) }
}

/** Serializes to JSON with bigints as strings, because JSON numbers lose digits above 2^53. */
export const toJson = (value: unknown): string =>
  `${JSON.stringify(value, (_, v: unknown) => (typeof v === 'bigint' ? String(v) : v))}\n`
