import { isJsonObject } from '../../../json.ts'

/** Page of an index, with the paging data it contains. */
export interface IndexPage {
  readonly rows: readonly unknown[]
  /** Actual start of the page, which servers may round. */
  readonly offset: number | undefined
  /** Actual page size. */
  readonly limit: number | undefined
  readonly total: number | undefined
  /** Cursor of the next page, for indexes that use one. */
  readonly cursor: string | undefined
  /** True if the server reports missing rows. */
  readonly partial: boolean
}

const LIST_NAMES = ['items', 'resources', 'services', 'endpoints', 'data', 'results'] as const

/** Finds the rows of an index: a list, possibly in an envelope `{code, data: {…}}`. */
export function readPage(body: unknown): IndexPage | undefined {
  if (Array.isArray(body)) return pageOf(body, {})
  if (!isJsonObject(body)) return undefined
  for (const name of LIST_NAMES) {
    const list = body[name]
    if (Array.isArray(list)) return pageOf(list, body)
  }
  const data = body['data']
  return isJsonObject(data) ? readPage(data) : undefined
}

function pageOf(rows: readonly unknown[], body: Readonly<Record<string, unknown>>): IndexPage {
  const pagination = isJsonObject(body['pagination']) ? body['pagination'] : body
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
