/** Where documents come from: the official journal, a folder of the operator's, our own samples. */
export type Source = 'live' | 'folder' | 'sample'

/** One publication day from one source, complete or on its way. */
export interface Snapshot {
  readonly id: bigint
  /** `2026-11-20` */
  readonly day: string
  /** Number of the issue, as in `208/2023`. */
  readonly ojs: string | null
  readonly source: Source
  /** How many notices the source says there are; null while it has not said. */
  readonly announced: number | null
  /** How many have arrived and are not refused. */
  readonly received: number
  readonly openedAt: Date
  readonly closedAt: Date | null
}

/** A document as it was published. */
export interface Arriving {
  /** eForms or TED XML. */
  readonly xml: Uint8Array | string
  /** Where its number is known beforehand; a document with another one is refused. */
  readonly number?: string
  readonly snapshot: Snapshot
}

/** What became of a document. */
export type Acceptance =
  | {
      /**
       * `unchanged`: the same number with the same bytes is held already, seen or not yet.
       * `replaced`: the same number came with other bytes before; this one counts from now on.
       */
      readonly outcome: 'stored' | 'unchanged' | 'replaced'
      readonly number: string
      /** What the notice changes or follows: numbers, or UUID-NN. */
      readonly refers: readonly string[]
    }
  | {
      readonly outcome: 'refused'
      readonly number: string | undefined
      /** Stable snake_case, such as `not_xml`, `unknown_schema`, `number_differs`. */
      readonly reason: string
      readonly detail: string
    }

/** A notice that is referred to and not held. */
export interface Wanted {
  readonly reference: string
  /** The notice that refers to it. */
  readonly byNumber: string
  /** How often it was looked for in vain, and when last. */
  readonly attempts: number
  readonly askedAt: Date | null
}

/** What ingestion writes to. Every method commits before it answers, and may be repeated. */
export interface Store {
  /** The snapshot of this day and source, made when absent; a closed one is found closed. */
  openSnapshot(
    snapshot: Pick<Snapshot, 'day' | 'source'> & Partial<Pick<Snapshot, 'ojs' | 'announced'>>,
  ): Promise<Snapshot>
  /** Reads a document and keeps what it says, unseen until its snapshot is closed. */
  accept(arriving: Arriving): Promise<Acceptance>
  /** Which of these publication numbers are held, seen or not yet. */
  held(numbers: readonly string[]): Promise<ReadonlySet<string>>
  /**
   * Shows, at one instant, all that has arrived in a snapshot: it is complete. Call it for a closed
   * one again when predecessors have arrived late; `closedAt` stays what it was.
   */
  closeSnapshot(snapshot: Snapshot): Promise<Snapshot>
  /** Newest days first. */
  snapshots(limit: number): Promise<readonly Snapshot[]>
  /** References to look for, those never looked for first, then those looked for longest ago. */
  wanted(limit: number): Promise<readonly Wanted[]>
  /** Notes that a wanted notice was looked for and not found. */
  missed(reference: string): Promise<void>
}
