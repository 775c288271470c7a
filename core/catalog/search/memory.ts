import { LRUCache } from 'lru-cache'
import type { Similar } from './spelling.ts'
import type { Entry, Reader } from './store.ts'

/** A term of the vocabulary, as it was when it had this version; '0' where it is not in it. */
export interface Term {
  readonly version: string
  /** How many have it. */
  readonly documents: number
  /** Its strongest postings, as far as they were read. */
  readonly head: Head
}

/** Postings, strongest first: documents, and what BM25 makes of the term in each. */
export interface Head {
  readonly docs: Int32Array
  readonly impacts: Int16Array
}

export const NO_POSTINGS: Head = { docs: new Int32Array(), impacts: new Int16Array() }

/** A term that is in no document, and was in none before. */
export const NOWHERE: Term = { version: '0', documents: 0, head: NO_POSTINGS }

/** Words that look like one that none has, among the vocabulary of this version. */
export interface Near {
  readonly version: string
  readonly similar: readonly Similar[]
}

/** The empty word stands for the whole vocabulary: all documents have it. */
export const ALL = ''

const MIB = 1_048_576
const TERMS_MAX = 24 * MIB
const ENTRIES_MAX = 48 * MIB
const WORDS_MAX = 20_000
const NEAR_MAX = 2_000
/** What an entry or a term takes besides its text or postings. */
const BASE_BYTES = 500

/**
 * What a process has read of the index, least recently used gone first. It may be out of date:
 * whoever uses it has the database tell which versions are no more.
 */
export class Memory {
  /** The terms of a word: none of `the`. They never change. */
  readonly stems = new LRUCache<string, readonly string[]>({ max: WORDS_MAX })
  readonly near = new LRUCache<string, Near>({ max: NEAR_MAX })
  readonly terms = new LRUCache<string, Term>({
    maxSize: TERMS_MAX,
    sizeCalculation: ({ head }) => BASE_BYTES + 6 * head.docs.length,
  })
  readonly entries = new LRUCache<number, Entry>({
    maxSize: ENTRIES_MAX,
    sizeCalculation: ({ vector }) => BASE_BYTES + vector.length,
  })

  /** Postings of another version are forgotten; longer ones of the same are kept. */
  learn(term: string, { version, documents, head }: Term): Term {
    const known = this.terms.get(term)
    const longer = known?.version === version && known.head.docs.length > head.docs.length
    const learnt = { version, documents, head: longer ? known.head : head }
    this.terms.set(term, learnt)
    return learnt
  }
}

const memories = new WeakMap<Reader, Memory>()

/** The memory of those who ask through this pool, or in this transaction. */
export function memoryOf(reader: Reader): Memory {
  const known = memories.get(reader)
  if (known) return known
  const memory = new Memory()
  memories.set(reader, memory)
  return memory
}
