import { elapsedMs } from '../../clock.ts'
import type { Similar } from './spelling.ts'
import type { Reader } from './store.ts'

/** A term of a word as the catalogue knows it. */
export interface Known {
  readonly word: string
  readonly term: string
  /** How many have it. */
  readonly documents: number
  /** Documents in all. */
  readonly total: number
  /** What was probably meant, of a word that was asked for and that none has. */
  readonly near: readonly Similar[] | null
}

/** Counts weigh words, and may be a minute old. */
const KEPT_MS = 60_000
const WORDS_MAX = 50_000

interface Kept {
  readonly since: number
  readonly words: Map<string, readonly Known[]>
}

const keptBy = new WeakMap<Reader, Kept>()

const LOOK_UP = 'SELECT * FROM hub.search_words($1, $2)'

/**
 * Meets words with the vocabulary. One that no document has is looked up each time: the next
 * document may have it.
 */
export async function meet(
  reader: Reader,
  asked: ReadonlySet<string>,
  others: readonly string[],
): Promise<Known[]> {
  const words = [...new Set([...asked, ...others])]
  const kept = keptOf(reader)
  const unknown = words.filter((word) => !kept.has(word))
  const found = unknown.length === 0 ? [] : await lookUp(reader, unknown, asked)
  const byWord = Map.groupBy(found, ({ word }) => word)
  for (const word of unknown) {
    const rows = byWord.get(word) ?? [] // such as `the`, which is not indexed
    if (rows.every(({ documents }) => documents > 0)) kept.set(word, rows)
  }
  return words.flatMap((word) => byWord.get(word) ?? kept.get(word) ?? [])
}

function keptOf(reader: Reader): Kept['words'] {
  const kept = keptBy.get(reader)
  if (kept && elapsedMs() - kept.since < KEPT_MS && kept.words.size < WORDS_MAX) return kept.words
  const words = new Map<string, readonly Known[]>()
  keptBy.set(reader, { since: elapsedMs(), words })
  return words
}

const lookUp = async (
  reader: Reader,
  words: readonly string[],
  asked: ReadonlySet<string>,
): Promise<Known[]> =>
  (await reader.query<Known>(LOOK_UP, [words, words.map((word) => asked.has(word))])).rows
