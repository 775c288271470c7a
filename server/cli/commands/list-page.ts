import { type Context, clientWithKey } from '../context.ts'
import { Failure } from '../failure.ts'
import { table } from '../terminal.ts'

export interface PageFlags {
  readonly limit?: string
  readonly cursor?: string
}

interface List<Row> {
  readonly path: string
  readonly query: Readonly<Record<string, string>>
  readonly head: readonly string[]
  readonly cellsOf: (row: Row) => readonly string[]
  readonly ifEmpty: string
  /** Text below the table. */
  readonly noteOn?: (first: Row) => string
}

/** Prints one page of a list of the key in use. */
export async function printPage<Row>(
  context: Context,
  { limit, cursor }: PageFlags,
  { path, query, head, cellsOf, ifEmpty, noteOn = () => '' }: List<Row>,
): Promise<void> {
  const client = await clientWithKey(context)
  const page = { ...query, limit: String(parseLimit(limit)), ...(cursor && { cursor }) }
  const { body } = await client.send(`${path}?${new URLSearchParams(page).toString()}`)
  const { data, next_cursor: next } = body as unknown as {
    readonly data: readonly Row[]
    readonly next_cursor: string | null
  }
  const [first] = data
  await context.terminal.result(body, () =>
    first ? `${table(head, data.map(cellsOf))}${noteOn(first)}${moreHint(next)}` : ifEmpty,
  )
}

export function parseLimit(text = '20'): number {
  const limit = Number(text)
  if (Number.isInteger(limit) && limit >= 1 && limit <= 100) return limit
  throw new Failure('usage', `Not a number from 1 to 100: ${text}`)
}

/** Says how to get the next page; empty after the last one. */
export const moreHint = (cursor: string | null | undefined): string =>
  cursor ? `\n\nMore: --cursor ${cursor}` : ''

/** Formats an instant to the second. */
export const formatTime = (at: string): string => at.replace('T', ' ').slice(0, 19)
