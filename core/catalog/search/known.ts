import { ALL, type Memory, type Near, NO_POSTINGS, type Term } from './memory.ts'
import type { Similar } from './spelling.ts'
import type { Reader } from './store.ts'

/** A term of a word as the catalogue knows it. */
export interface Known extends Pick<Term, 'version' | 'documents'> {
  readonly word: string
  readonly term: string
  /** What was probably meant, of a word that was asked for and that none has. */
  readonly near: readonly Similar[] | null
}

const LOOK_UP = 'SELECT * FROM hub.search_words($1, $2)'

/**
 * Meets words with the vocabulary, first as it is remembered. The empty word is among what is
 * returned: it counts all documents.
 */
export async function meet(
  reader: Reader,
  memory: Memory,
  asked: ReadonlySet<string>,
  others: readonly string[],
): Promise<Known[]> {
  const words = [ALL, ...new Set([...asked, ...others])]
  const remembered = words.map((word) => remember(memory, word, asked.has(word)))
  const unknown = words.filter((_, i) => remembered[i] === undefined)
  if (unknown.length === 0) return remembered.flatMap((rows) => rows ?? [])
  const found = await lookUp(reader, memory, unknown, asked)
  return words.flatMap((word, i) => found.get(word) ?? remembered[i] ?? [])
}

/** What is remembered of a word; undefined where that is not enough. */
function remember({ stems, terms, near }: Memory, word: string, asked: boolean) {
  const all = terms.get(ALL)
  const own = word === ALL ? [ALL] : stems.get(word)
  if (!own || !all) return undefined
  const rows: Known[] = []
  for (const term of own) {
    const known = terms.get(term)
    if (!known) return undefined
    const { version, documents } = known
    const isMissed = asked && documents === 0
    const alike = isMissed ? near.get(term) : undefined
    if (isMissed && alike?.version !== all.version) return undefined
    rows.push({ word, term, version, documents, near: alike?.similar ?? null })
  }
  return rows
}

async function lookUp(
  reader: Reader,
  memory: Memory,
  words: readonly string[],
  asked: ReadonlySet<string>,
): Promise<ReadonlyMap<string, readonly Known[]>> {
  const isAsked = words.map((word) => asked.has(word))
  const { rows } = await reader.query<Known>(LOOK_UP, [words, isAsked])
  const { version } = rows.find(({ word }) => word === ALL)!
  const found = Map.groupBy(rows, ({ word }) => word)
  for (const { term, near, ...row } of rows) {
    memory.learn(term, { ...row, head: NO_POSTINGS })
    const isMissed = asked.has(row.word) && row.documents === 0
    if (isMissed) memory.near.set(term, nearOf(version, near))
  }
  for (const word of words)
    memory.stems.set(
      word,
      (found.get(word) ?? []).map((row) => row.term),
    )
  return new Map(words.map((word) => [word, found.get(word) ?? []]))
}

const nearOf = (version: string, similar: readonly Similar[] | null): Near => ({
  version,
  similar: similar ?? [],
})
