import { z } from 'zod'
import type { PagePosition } from '../../../core/catalog/search/search.ts'
import { readCursor, writeCursor } from '../paging.ts'

const DAY_MS = 86_400_000
/** Day, rank and last hit. */
const Cursor = z.tuple([
  z.int().min(0).max(3_000_000_000_000).multipleOf(DAY_MS),
  z.int().min(1).max(1_000),
  z.string().max(200),
])

/**
 * Decodes a cursor written by `writeSearchCursor`.
 * @throws Fault `validation_failed` for any other text
 */
export function readSearchCursor(cursor: string | undefined): PagePosition | undefined {
  const position = readCursor(cursor, Cursor)
  return position && { day: position[0], rank: position[1], last: position[2] }
}

export const writeSearchCursor = (next: PagePosition | undefined): string | null =>
  next ? writeCursor([next.day, next.rank, next.last]) : null
