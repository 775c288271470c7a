import type { Transaction } from 'agenthub/plugin'
import type { Source } from './types.ts'
import { CODE_VERSION } from './version.ts'

/** Stage at which a notice failed. */
export type Stage = 'read' | 'store' | 'publish'

/** A document or notice that was set aside. */
export interface SetAside {
  readonly sha256: Buffer
  readonly number: string | undefined
  readonly stage: Stage
  /** Stable snake_case, such as `not_xml` or `unexpected_error`. */
  readonly reason: string
  readonly detail: string
  readonly stack?: string | undefined
  readonly source: Source
  /** Publication day of its snapshot, if known. */
  readonly day?: string | undefined
  readonly file?: string | undefined
  readonly at: Date
}

export const DETAIL_MAX = 500
export const STACK_MAX = 4_000

/** Truncates a text and removes what PostgreSQL cannot store; null for none. */
export const storable = (text: string | undefined, max: number): string | null =>
  text?.replaceAll('\0', '').slice(0, max).toWellFormed() ?? null

/** Records a document or notice that failed; a later failure of the same one replaces it. */
export async function recordSetAside(
  transaction: Transaction,
  { sha256, number, stage, reason, detail, stack, source, day, file, at }: SetAside,
): Promise<void> {
  await transaction.query(
    `INSERT INTO refusal AS r (sha256, number, stage, reason, detail, stack, source, day, file,
       code_version, refused_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
     ON CONFLICT (sha256) DO UPDATE SET (number, stage, reason, detail, stack, day, file,
       code_version, refused_at) = (excluded.number, excluded.stage, excluded.reason,
       excluded.detail, excluded.stack, coalesce(excluded.day, r.day),
       coalesce(excluded.file, r.file), excluded.code_version, excluded.refused_at)`,
    [
      sha256,
      number ?? null,
      stage,
      reason,
      storable(detail, DETAIL_MAX),
      storable(stack, STACK_MAX),
      source,
      day ?? null,
      file ?? null,
      CODE_VERSION,
      at,
    ],
  )
}

/** Describes an unexpected error. */
export const causeOf = (
  error: unknown,
): Pick<SetAside, 'reason' | 'detail'> & { readonly stack: string | undefined } => ({
  reason: 'unexpected_error',
  detail: error instanceof Error ? `${error.name}: ${error.message}` : `threw ${typeof error}`,
  stack: error instanceof Error ? error.stack : undefined,
})

/** SQLSTATE classes of errors in the data or its statement, not of the connection or server. */
const DATA_ERRORS: ReadonlySet<string> = new Set(['21', '22', '23', '42', '44', '54', 'P0'])
const SQLSTATE_LENGTH = 5

/** Returns true if an error can be due to one notice; others concern the database itself. */
export function isNoticeError(error: unknown): boolean {
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : null
  if (typeof code !== 'string') return true
  if (code.startsWith('ERR_')) return true
  return code.length === SQLSTATE_LENGTH && DATA_ERRORS.has(code.slice(0, 2))
}
