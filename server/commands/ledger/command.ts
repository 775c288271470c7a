import type { ParseArgsOptionsConfig } from 'node:util'
import type { Pool } from 'pg'
import type { Ledger } from '../../../core/ledger/ledger.ts'

/** Takes text for the standard output; what it returns is awaited before more comes. */
export type Write = (text: string) => unknown

/** What a command works with. The database is opened when it is first asked for. */
export interface Context {
  readonly pool: () => Promise<Pool>
  readonly ledger: () => Promise<Ledger>
  readonly write: Write
  /** For progress and advice, which is not part of the answer. */
  readonly tell: Write
}

export type Values = Readonly<Record<string, string | boolean | readonly string[] | undefined>>

/** One command of `npm run ledger`. */
export interface Command {
  /** What follows its name, as in `--at INSTANT [--json]`. */
  readonly usage: string
  readonly about: string
  readonly options: ParseArgsOptionsConfig
  /** How many words it takes beside its options. */
  readonly words?: number
  /** @returns the exit code. @throws Misuse */
  run(context: Context, values: Values, words: readonly string[]): Promise<number>
}

/** It was asked for in a way that means nothing; the message says what would. */
export class Misuse extends Error {
  override readonly name = 'Misuse'
}

export const FAILED = 1

/** A text option, or a word that has to be there. @throws Misuse */
export function needed(value: Values[string], name: string): string {
  if (typeof value !== 'string' || value.trim() === '') throw new Misuse(`${name} is needed`)
  return value
}

export const optional = (value: Values[string]): string | undefined =>
  typeof value === 'string' ? value : undefined

/**
 * An instant in UTC: `2026-11` (its first), `2026-11-21` (its midnight) or ISO 8601 with a zone.
 * @throws Misuse
 */
export function instant(text: string): Date {
  const full = /^\d{4}-\d{2}$/.test(text) ? `${text}-01` : text
  const isInstant =
    /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,6})?)?(?:Z|[+-]\d{2}:\d{2}))?$/
  const date = new Date(full)
  const exists = isInstant.test(full) && !Number.isNaN(date.getTime())
  if (!exists) {
    throw new Misuse(`not an instant: ${text} (write 2026-11, 2026-11-21 or 2026-11-21T08:00Z)`)
  }
  return date
}

/** A whole month: `2026-11` is from its first instant up to the next month's. @throws Misuse */
export function month(text: string): { readonly from: Date; readonly to: Date } {
  if (!/^\d{4}-(?:0[1-9]|1[0-2])$/.test(text)) throw new Misuse(`not a month: ${text}`)
  const from = instant(text)
  return { from, to: new Date(Date.UTC(from.getUTCFullYear(), from.getUTCMonth() + 1)) }
}

/** JSON numbers lose digits above 2^53, so integers of the database go out as text. */
export const toJson = (value: unknown): string =>
  `${JSON.stringify(value, (_, v: unknown) => (typeof v === 'bigint' ? String(v) : v))}\n`
