import {
  ALL_DOCUMENTS,
  type CachedTerm,
  type IndexCache,
  NO_POSTINGS,
  type Reader,
} from './index-cache.ts'
import type { SimilarTerm } from './spelling.ts'

/** Term of a word, as the vocabulary has it. */
export interface VocabularyTerm extends Pick<CachedTerm, 'version' | 'documents'> {
  readonly word: string
  readonly term: string
  /** Spelling candidates, of a word of the query that no document contains. */
  readonly near: readonly SimilarTerm[] | null
}

const SELECT_WORDS = 'SELECT * FROM hub.search_words($1, $2)'

/**
 * Looks up the terms of words, in the cache first. The result includes the empty word, which counts
 * all documents.
 * @param queried words of the query, for which spelling candidates are looked up too
 * @param others words of alternatives
 */
export async function lookUpWords(
  reader: Reader,
  cache: IndexCache,
  queried: ReadonlySet<string>,
  others: readonly string[],
): Promise<VocabularyTerm[]> {
  const words = [ALL_DOCUMENTS, ...new Set([...queried, ...others])]
  const cached = words.map((word) => readCached(cache, word, queried.has(word)))
  const missing = words.filter((_, i) => cached[i] === undefined)
  if (missing.length === 0) return cached.flatMap((rows) => rows ?? [])
  const found = await readFromDatabase(reader, cache, missing, queried)
  return words.flatMap((word, i) => found.get(word) ?? cached[i] ?? [])
}

/** Returns the cached terms of a word; undefined if the cache is incomplete. */
function readCached({ stems, terms, similar }: IndexCache, word: string, isQueried: boolean) {
  const all = terms.get(ALL_DOCUMENTS)
  const own = word === ALL_DOCUMENTS ? [ALL_DOCUMENTS] : stems.get(word)
  if (!own || !all) return undefined
  const rows: VocabularyTerm[] = []
  for (const term of own) {
    const known = terms.get(term)
    if (!known) return undefined
    const { version, documents } = known
    const isAbsent = isQueried && documents === 0
    const candidates = isAbsent ? similar.get(term) : undefined
    if (isAbsent && candidates?.version !== all.version) return undefined
    rows.push({ word, term, version, documents, near: candidates?.similar ?? null })
  }
  return rows
}

async function readFromDatabase(
  reader: Reader,
  cache: IndexCache,
  words: readonly string[],
  queried: ReadonlySet<string>,
): Promise<ReadonlyMap<string, readonly VocabularyTerm[]>> {
  const isQueried = words.map((word) => queried.has(word))
  const { rows } = await reader.query<VocabularyTerm>(SELECT_WORDS, [words, isQueried])
  const { version } = rows.find(({ word }) => word === ALL_DOCUMENTS)!
  const found = Map.groupBy(rows, ({ word }) => word)
  for (const { term, near, ...row } of rows) {
    cache.store(term, { ...row, postings: NO_POSTINGS })
    const isAbsent = queried.has(row.word) && row.documents === 0
    if (isAbsent) cache.similar.set(term, { version, similar: near ?? [] })
  }
  for (const word of words) {
    const terms = (found.get(word) ?? []).map(({ term }) => term)
    cache.stems.set(word, terms)
  }
  return new Map(words.map((word) => [word, found.get(word) ?? []]))
}
