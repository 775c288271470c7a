import { LRUCache } from 'lru-cache'
import type { ClientBase, Pool } from 'pg'
import type { SimilarTerm } from './spelling.ts'

/** Database connection of a search: a pool, or an open transaction. */
export type Reader = Pool | ClientBase

/** Indexed document with everything that ranking needs. */
export interface Entry {
  readonly doc: number
  /** Changes with each change of the document. */
  readonly version: string
  readonly kind: 'native' | 'external'
  readonly id: string
  /** Microdollars, of the cheapest endpoint. */
  readonly price: number
  /** From 0 to 20: see `hub.search_quality`. */
  readonly quality: number
  /** Milliseconds since 1970. */
  readonly listedAt: number
  readonly verifiedAt: number | null
  readonly latencyMs: number | null
  readonly calls: number
  readonly delivered: number
  /** Payee and host of a listing, or provider of a service; none for first-party services. */
  readonly sellers: readonly string[]
  /** Name, id and address, reduced by `squashName`. */
  readonly names: readonly string[]
  readonly words: number
  /** Number of different words in its name. */
  readonly nameWords: number
  /** Its words, in PostgreSQL's tsvector format. */
  readonly vector: string
}

/** Term of the vocabulary at one version; version '0' if it is not in the vocabulary. */
export interface CachedTerm {
  readonly version: string
  /** Number of documents that contain it. */
  readonly documents: number
  /** The strongest ones, as far as they have been read. */
  readonly postings: Postings
}

/** Documents of a term, strongest first, each with the BM25 impact of the term. */
export interface Postings {
  readonly docs: Int32Array
  readonly impacts: Int16Array
}

export const NO_POSTINGS: Postings = { docs: new Int32Array(), impacts: new Int16Array() }

/** Term that no document contains or has ever contained. */
export const ABSENT_TERM: CachedTerm = { version: '0', documents: 0, postings: NO_POSTINGS }

/** The empty word stands for the whole vocabulary; every document contains it. */
export const ALL_DOCUMENTS = ''

const MIB = 1_048_576
const TERMS_MAX = 24 * MIB
const ENTRIES_MAX = 48 * MIB
const WORDS_MAX = 20_000
const NEAR_MAX = 2_000
/** Size of an entry or term without its text or postings. */
const BASE_BYTES = 500

/** Least-recently-used cache of the search index. The database checks which versions hold. */
export class IndexCache {
  /** Terms of a word, which never change; a stop word such as `the` has none. */
  readonly stems = new LRUCache<string, readonly string[]>({ max: WORDS_MAX })
  /** Spelling candidates for absent terms, at one version of the vocabulary. */
  readonly similar = new LRUCache<string, { version: string; similar: readonly SimilarTerm[] }>({
    max: NEAR_MAX,
  })
  readonly terms = new LRUCache<string, CachedTerm>({
    maxSize: TERMS_MAX,
    sizeCalculation: ({ postings }) => BASE_BYTES + 6 * postings.docs.length,
  })
  readonly entries = new LRUCache<number, Entry>({
    maxSize: ENTRIES_MAX,
    sizeCalculation: ({ vector }) => BASE_BYTES + vector.length,
  })

  /** Stores a term; of two postings lists of the same version, the longer one stays. */
  store(term: string, { version, documents, postings }: CachedTerm): CachedTerm {
    const known = this.terms.get(term)
    const isLonger = known?.version === version && known.postings.docs.length > postings.docs.length
    const stored = { version, documents, postings: isLonger ? known.postings : postings }
    this.terms.set(term, stored)
    return stored
  }
}

const caches = new WeakMap<Reader, IndexCache>()

/** Returns the cache that belongs to this pool or transaction. */
export function indexCacheOf(reader: Reader): IndexCache {
  const known = caches.get(reader)
  if (known) return known
  const cache = new IndexCache()
  caches.set(reader, cache)
  return cache
}
