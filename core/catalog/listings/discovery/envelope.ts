import { isJson } from '../../../payments/paying/terms.ts'

/** A page of an index, as far as it can be told. */
export interface IndexPage {
  readonly rows: readonly unknown[]
  /** Where the page really begins: servers round what they were asked for. */
  readonly offset: number | undefined
  /** How many rows the server gives at a time. */
  readonly limit: number | undefined
  readonly total: number | undefined
  /** What to send for the next page, where the index works so. */
  readonly cursor: string | undefined
  /** The server says itself that rows are missing. */
  readonly partial: boolean
}

const LISTS = ['items', 'resources', 'services', 'endpoints', 'data', 'results'] as const

/**
 * Finds the rows in what an index answered: under one of the names that are in use, at the top or
 * in an envelope `{code, data: {…}}`; or a bare list.
 * @returns undefined for anything else
 */
export function readPage(body: unknown): IndexPage | undefined {
  if (Array.isArray(body)) return pageOf(body, {})
  if (!isJson(body)) return undefined
  for (const name of LISTS) {
    const list = body[name]
    if (Array.isArray(list)) return pageOf(list, body)
  }
  const data = body['data']
  return isJson(data) ? readPage(data) : undefined
}

function pageOf(rows: readonly unknown[], body: Readonly<Record<string, unknown>>): IndexPage {
  const pagination = isJson(body['pagination']) ? body['pagination'] : body
  const cursor =
    pagination['next_cursor'] ?? pagination['nextCursor'] ?? body['nextCursor'] ?? undefined
  return {
    rows,
    offset: count(pagination['offset']),
    limit: count(pagination['limit']),
    total: count(pagination['total']),
    cursor: typeof cursor === 'string' && cursor !== '' ? cursor.slice(0, 1_000) : undefined,
    partial: body['partialResults'] === true,
  }
}

const count = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined
