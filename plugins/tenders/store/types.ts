/** Source of documents: the official journal, an operator's folder, or the samples. */
export type Source = 'live' | 'folder' | 'sample'

/** One publication day of one source, complete or in progress. */
export interface Snapshot {
  readonly id: bigint
  /** `2026-11-20` */
  readonly day: string
  /** Number of the issue, as in `208/2023`. */
  readonly ojs: string | null
  readonly source: Source
  /** Number of notices announced by the source; null if unknown. */
  readonly announced: number | null
  /** Number of notices stored. */
  readonly received: number
  readonly closedAt: Date | null
}

/** A document as it was published. */
export interface ReceivedDocument {
  /** eForms or TED XML. */
  readonly xml: Uint8Array | string
  /** Expected number; a document with another one is refused. */
  readonly number?: string
  /** Name of the file in a package, for the operator. */
  readonly file?: string
  readonly snapshot: Snapshot
}

/** Outcome of storing a document. */
export type StoreOutcome =
  | {
      /**
       * `unchanged`: the same number with the same bytes is already stored.
       * `replaced`: the same number with other bytes was stored before; the new one counts.
       */
      readonly outcome: 'stored' | 'unchanged' | 'replaced'
      readonly number: string
    }
  | {
      readonly outcome: 'refused'
      readonly number: string | undefined
      readonly stage: 'read' | 'store'
      /** Stable snake_case, such as `not_xml`, `unknown_schema`, `number_differs`. */
      readonly reason: string
      readonly detail: string
      /** Stack of an unexpected error. */
      readonly stack?: string | undefined
    }

/** A notice that is referred to but missing. */
export interface MissingReference {
  readonly reference: string
  /** Number of failed attempts, and time of the last one. */
  readonly attempts: number
  readonly askedAt: Date | null
}

/** Storage of ingestion. Every method commits before it returns and is idempotent. */
export interface Store {
  /** Opens the snapshot of a day and source; creates it if missing. It may be closed already. */
  openSnapshot(
    snapshot: Pick<Snapshot, 'day' | 'source'> & Partial<Pick<Snapshot, 'ojs' | 'announced'>>,
  ): Promise<Snapshot>
  /** Parses and stores a document, invisible until its snapshot is closed. */
  accept(document: ReceivedDocument): Promise<StoreOutcome>
  /** Returns the publication numbers that are stored, visible or not. */
  storedNumbers(numbers: readonly string[]): Promise<ReadonlySet<string>>
  /** Call it again when predecessors arrive late; `closedAt` does not change. */
  closeSnapshot(snapshot: Snapshot): Promise<Snapshot>
  /** Newest days first. */
  snapshots(limit: number): Promise<readonly Snapshot[]>
  /** Lists missing references: never tried first, then least recently tried. */
  missingReferences(limit: number): Promise<readonly MissingReference[]>
  /** Records a failed attempt to find a missing notice. */
  recordAttempt(reference: string): Promise<void>
}
