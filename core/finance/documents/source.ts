import type { Pool } from 'pg'
import type { Clock } from '../../clock.ts'
import type { KeyManager } from '../../identity/sub-keys.ts'
import type { DocumentContent, Tax } from './document.ts'

export interface SourceDeps {
  readonly pool: Pool
  readonly clock: Clock
  readonly tax: Tax
}

/** Content of a document without its parties, and the principal that it belongs to. */
export interface DocumentSource extends Omit<DocumentContent, 'supplier' | 'customer' | 'totals'> {
  readonly principal: string
}

/** Reads the figures of a subject. `principals`: those who may see it, the account first. */
export type ReadSource = (
  deps: SourceDeps,
  principals: KeyManager,
  subject: string,
) => Promise<DocumentSource>

/** Members that most documents leave empty. */
export const NOTHING = { period: null, preceding: null, transaction: null, tables: [], notes: [] }
