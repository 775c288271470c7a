import { z } from 'zod'
import { Fault } from '../../core/errors.ts'
import { parse } from './route.ts'

/** Query field for the number of items of a page: an integer in the OpenAPI document. */
export const pageSize = (max: number, initial: number) =>
  z
    .preprocess(
      (text) => (typeof text === 'string' && /^\d{1,9}$/.test(text) ? Number(text) : text),
      z.int(`must be a whole number from 1 to ${max}`).min(1).max(max),
    )
    .default(initial)
    .meta({ description: `Maximum number of items, 1 to ${max}.`, default: initial })

/** Query fields of every list. Routes add them by `listQuery`. */
const paging = {
  limit: pageSize(100, 20),
  cursor: z.string().max(500).optional().meta({ description: 'next_cursor of the last page.' }),
}

/** Query of a list. Unknown parameters, which links from elsewhere may carry, are ignored. */
export const listQuery = <const Fields extends z.ZodRawShape>(fields: Fields) =>
  z.object({ ...paging, ...fields })

export const pageSchema = (item: z.ZodType) =>
  z.object({ data: z.array(item), next_cursor: z.string().nullable(), has_more: z.boolean() })

export interface ListPage<Item> {
  readonly data: readonly Item[]
  readonly next_cursor: string | null
  readonly has_more: boolean
}

export const writeCursor = (position: readonly unknown[]): string =>
  Buffer.from(JSON.stringify(position)).toString('base64url')

/**
 * Decodes a cursor written by `writeCursor`.
 * @throws Fault `validation_failed` for any other text
 */
export function readCursor<T>(cursor: string | undefined, shape: z.ZodType<T>): T | undefined {
  if (cursor === undefined) return undefined
  try {
    return parse(shape, JSON.parse(Buffer.from(cursor, 'base64url').toString()))
  } catch (error) {
    throw new Fault('validation_failed', 'The cursor does not belong to this list.', {
      cause: error,
    })
  }
}

/** `Link` header to the next page, if there is one. */
export function linkToNext(url: string, cursor: string | null) {
  if (cursor === null) return {}
  const next = new URL(url)
  next.searchParams.set('cursor', cursor)
  return { headers: { Link: `<${next.pathname}${next.search}>; rel="next"` } }
}

/**
 * Builds the reply of a list.
 * @param rows up to `limit + 1`: the extra one shows a next page
 * @param searchedTo position after which a search goes on, if the rows do not fill the page
 */
export function toPage<Row>(
  rows: readonly Row[],
  limit: number,
  url: string,
  positionOf: (row: Row) => readonly unknown[],
  show: (row: Row) => unknown,
  searchedTo: readonly unknown[] | null = null,
) {
  const data = rows.slice(0, limit)
  const last = data.at(-1)
  const end = rows.length > limit && last !== undefined ? positionOf(last) : searchedTo
  const cursor = end && writeCursor(end)
  return {
    ...linkToNext(url, cursor),
    body: { data: data.map(show), next_cursor: cursor, has_more: cursor !== null },
  }
}
