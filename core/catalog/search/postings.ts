import { parsePgArray } from './check-draft.ts'
import { ABSENT_TERM, type CachedTerm, type IndexCache, type Reader } from './index-cache.ts'

/** Number of postings to read of one term, and their weight. */
export interface TermReading {
  readonly term: string
  /** BM25 factor applied to each posting. */
  readonly weight: number
  readonly reads: number
}

/** Postings read per search, shared by weight. With 60,000 the ten best hits scored 3 % better. */
const POSTINGS_MAX = 1_500
/** Reads are rounded up to powers of two, so that a term is rarely read again for a few more. */
const READS_MIN = 64

const SELECT_HEADS = 'SELECT * FROM hub.search_heads($1, $2)'

/** Plans how many postings are read of each term; `factor` multiplies the usual number. */
export function planReadings(weights: ReadonlyMap<string, number>, factor = 1): TermReading[] {
  const total = [...weights.values()].reduce((sum, weight) => sum + weight, 0)
  return [...weights].map(([term, weight]) => ({
    term,
    weight,
    reads: factor * (total === 0 ? 0 : Math.ceil((POSTINGS_MAX * weight) / total)),
  }))
}

/** Loads the planned postings, from cache or database, and adds their versions to `versions`. */
export async function loadPostings(
  reader: Reader,
  cache: IndexCache,
  terms: readonly TermReading[],
  versions: Map<string, string>,
): Promise<CachedTerm[]> {
  const cached = terms.map(({ term }) => cache.terms.get(term))
  const short = terms.filter(({ reads }, i) => isTooShort(cached[i], reads))
  const read = short.length === 0 ? undefined : await readPostings(reader, cache, short)
  return terms.map(({ term }, i) => {
    const each = read?.get(term) ?? cached[i] ?? ABSENT_TERM
    const isSame = (versions.get(term) ?? each.version) === each.version
    versions.set(term, isSame ? each.version : MIXED_VERSION)
    return each
  })
}

/** Matches no term: the count and the postings are of different versions. */
const MIXED_VERSION = '-1'

const isTooShort = (term: CachedTerm | undefined, reads: number): boolean =>
  term === undefined || term.postings.docs.length < Math.min(reads, term.documents)

async function readPostings(
  reader: Reader,
  cache: IndexCache,
  terms: readonly TermReading[],
): Promise<ReadonlyMap<string, CachedTerm>> {
  const { rows } = await reader.query<{
    term: string
    version: string
    documents: number
    docs: string | null
    impacts: string | null
  }>(SELECT_HEADS, [terms.map(({ term }) => term), terms.map(({ reads }) => roundUpReads(reads))])
  return new Map(
    rows.map(({ term, version, documents, docs, impacts }) => {
      const postings = {
        docs: Int32Array.from(parsePgArray(docs)),
        impacts: Int16Array.from(parsePgArray(impacts)),
      }
      return [term, cache.store(term, { version, documents, postings })]
    }),
  )
}

const roundUpReads = (reads: number): number =>
  Math.max(READS_MIN, 2 ** Math.ceil(Math.log2(Math.max(reads, 1))))

/** Returns the documents with the greatest weighted sum of postings, best first. */
export function strongestDocuments(
  readings: readonly TermReading[],
  terms: readonly Pick<CachedTerm, 'postings'>[],
  depth: number,
  among?: ReadonlySet<number>,
): number[] {
  const scores = new ScoreTable(readings.reduce((sum, { reads }) => sum + reads, 0))
  for (const [at, { weight, reads }] of readings.entries()) {
    const { docs, impacts } = terms[at]!.postings
    scores.add(docs.subarray(0, reads), impacts, weight, among)
  }
  return scores.top(depth)
}

/** Sums by document: a hash table with open addressing, several times as fast as a Map. */
class ScoreTable {
  /** Index into the arrays below plus 1; 0 in an empty slot. */
  readonly #slots: Int32Array
  readonly #docs: Int32Array
  readonly #sums: Float64Array
  #size = 0

  /** @param capacity maximum number of different documents */
  constructor(capacity: number) {
    this.#slots = new Int32Array(2 ** Math.ceil(Math.log2(2 * capacity + 2)))
    this.#docs = new Int32Array(capacity)
    this.#sums = new Float64Array(capacity)
  }

  /** Adds `weight` times the amount of each document, restricted to `among` if it is given. */
  add(
    docs: Int32Array,
    amounts: Int16Array,
    weight: number,
    among: ReadonlySet<number> | undefined,
  ): void {
    const slots = this.#slots
    const mask = slots.length - 1
    for (let i = 0; i < docs.length; i++) {
      const doc = docs[i]!
      if (among && !among.has(doc)) continue
      let slot = Math.imul(doc, 0x9e3779b1) & mask
      while (slots[slot] !== 0 && this.#docs[slots[slot]! - 1] !== doc) slot = (slot + 1) & mask
      if (slots[slot] === 0) {
        this.#docs[this.#size] = doc
        slots[slot] = ++this.#size
      }
      this.#sums[slots[slot]! - 1]! += amounts[i]! * weight
    }
  }

  /** Returns the documents with the greatest sums, greatest first; ties by document number. */
  top(count: number): number[] {
    const sums = this.#sums.subarray(0, this.#size)
    const bar = sums.toSorted().at(-count) ?? 0
    const best: number[] = []
    for (let i = 0; i < sums.length; i++) if (sums[i]! >= bar) best.push(i)
    const docs = this.#docs
    return best
      .sort((a, b) => sums[b]! - sums[a]! || docs[a]! - docs[b]!)
      .slice(0, count)
      .map((i) => docs[i]!)
  }
}
