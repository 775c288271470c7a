import { cutDepth, isJsonObject } from '../../../json.ts'

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

/** Maximum nesting of a row; what is deeper is cut off, so that no row fails or stops a page. */
const ROW_DEPTH_MAX = 64
const ENVELOPES_MAX = 3

/** Finds the rows of an index: a list, possibly in an envelope `{code, data: {…}}`. */
export function readPage(body: unknown, envelopes = ENVELOPES_MAX): IndexPage | undefined {
  if (Array.isArray(body)) return pageOf(body, {})
  if (!isJsonObject(body)) return undefined
  for (const name of LIST_NAMES) {
    const list = body[name]
    if (Array.isArray(list)) return pageOf(list, body)
  }
  const data = body['data']
  return isJsonObject(data) && envelopes > 0 ? readPage(data, envelopes - 1) : undefined
}

function pageOf(rows: readonly unknown[], body: Readonly<Record<string, unknown>>): IndexPage {
  const pagination = isJsonObject(body['pagination']) ? body['pagination'] : body
  const cursor =
    pagination['next_cursor'] ?? pagination['nextCursor'] ?? body['nextCursor'] ?? undefined
  return {
    rows: rows.map((row) => cutDepth(row, ROW_DEPTH_MAX)),
    offset: count(pagination['offset']),
    limit: count(pagination['limit']),
    total: count(pagination['total']),
    cursor: typeof cursor === 'string' && cursor !== '' ? cursor.slice(0, 1_000) : undefined,
    partial: body['partialResults'] === true,
  }
}

const count = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined
