import { type Memory, NOWHERE, type Term } from './memory.ts'
import { integers, type Reader } from './store.ts'
import { Sums } from './sums.ts'

/** So much of a term's postings is read, and counts so much. */
export interface Reading {
  readonly term: string
  /** What BM25 multiplies a posting with. */
  readonly weight: number
  readonly reads: number
}

/**
 * So many postings are read, shared among the terms by what they tell: of each those where it says
 * most. With 60,000 the ten best hits were better by three parts in a hundred.
 */
const POSTINGS = 1_500
/** Postings are read by powers of two, so that a term is seldom read again for a few more. */
const READ_MIN = 64

const READ = 'SELECT * FROM hub.search_heads($1, $2)'

/** How many postings are read of each term; `further` is how many times as many as usual. */
export function readings(weights: ReadonlyMap<string, number>, further = 1): Reading[] {
  const all = [...weights.values()].reduce((sum, weight) => sum + weight, 0)
  return [...weights].map(([term, weight]) => ({
    term,
    weight,
    reads: further * (all === 0 ? 0 : Math.ceil((POSTINGS * weight) / all)),
  }))
}

/**
 * The terms with as many of their postings, as they are remembered or else read.
 * @param versions those that are reckoned with; the ones of these terms join them
 */
export async function headsOf(
  reader: Reader,
  memory: Memory,
  terms: readonly Reading[],
  versions: Map<string, string>,
): Promise<Term[]> {
  const known = terms.map(({ term }) => memory.terms.get(term))
  const short = terms.filter(({ reads }, i) => isShort(known[i], reads))
  const read = short.length === 0 ? undefined : await readHeads(reader, memory, short)
  return terms.map(({ term }, i) => {
    const each = read?.get(term) ?? known[i] ?? NOWHERE
    const isOne = (versions.get(term) ?? each.version) === each.version
    versions.set(term, isOne ? each.version : MIXED)
    return each
  })
}

/** The version of no term: its count is of another state than its postings. */
const MIXED = '-1'

const isShort = (known: Term | undefined, reads: number): boolean =>
  known === undefined || known.head.docs.length < Math.min(reads, known.documents)

async function readHeads(
  reader: Reader,
  memory: Memory,
  terms: readonly Reading[],
): Promise<ReadonlyMap<string, Term>> {
  const { rows } = await reader.query<{
    term: string
    version: string
    documents: number
    docs: string | null
    impacts: string | null
  }>(READ, [terms.map(({ term }) => term), terms.map(({ reads }) => rounded(reads))])
  return new Map(
    rows.map(({ term, version, documents, docs, impacts }) => {
      const head = {
        docs: Int32Array.from(integers(docs)),
        impacts: Int16Array.from(integers(impacts)),
      }
      return [term, memory.learn(term, { version, documents, head })]
    }),
  )
}

const rounded = (reads: number): number =>
  Math.max(READ_MIN, 2 ** Math.ceil(Math.log2(Math.max(reads, 1))))

/** The documents whose postings add up to most: a first, rough measure. Best first. */
export function strongest(
  terms: readonly Reading[],
  read: readonly Pick<Term, 'head'>[],
  depth: number,
  among?: ReadonlySet<number>,
): number[] {
  const sums = new Sums(terms.reduce((sum, { reads }) => sum + reads, 0))
  for (const [at, { weight, reads }] of terms.entries()) {
    const { docs, impacts } = read[at]!.head
    sums.add(docs.subarray(0, reads), impacts, weight, among)
  }
  return sums.greatest(depth)
}
