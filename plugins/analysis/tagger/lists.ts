import { cues, gazetteer, givenNames, notNames, plainWords } from '../gazetteer.ts'
import { listsByKind, wordList } from '../lexicon.ts'
import { type Token, tokenize } from '../tokens.ts'
import type { TagType } from './labels.ts'

const KNOWN = listsByKind(wordList('known-names.txt'))
const listOf = (kind: string): ReadonlySet<string> => new Set(KNOWN.get(kind))

/** Words for the people and things of a country or religion, in lower case. */
const demonyms = listOf('demonym')

/** True if a lower-cased name is a demonym, such as `Turkish` or `Turks`. */
export const isDemonym = (name: string): boolean =>
  demonyms.has(name) || demonyms.has(name.replace(/s$/, ''))

const GIVEN = listOf('given')
const FAMILY = listOf('family')
/** Lists of the bits in `flagsOf`; their order is part of the model. */
const FLAGS: readonly ReadonlySet<string>[] = [
  cues.honorific,
  cues.role,
  cues.corporateSuffix,
  cues.organizationHead,
  cues.locationHead,
  cues.locationFirst,
  cues.said,
  cues.organizationAfter,
  cues.organizationBefore,
  cues.particles,
  cues.direction,
  givenNames,
  notNames,
  plainWords,
  GIVEN,
  FAMILY,
  demonyms,
]

/** One bit for each list that contains the word. */
export const flagsOf = (lower: string): number =>
  FLAGS.reduce((bits, list, at) => (list.has(lower) ? bits | (1 << at) : bits), 0)

const TYPES: readonly (TagType | 'product')[] = ['person', 'organization', 'location', 'product']
const LONGEST = 5

const lowerKey = (tokens: readonly Token[]): string => tokens.map(({ lower }) => lower).join(' ')

/** Type number of each known name, by its lower-cased words. */
const PHRASES: ReadonlyMap<string, number> = new Map([
  ...Array.from(gazetteer, ([key, type]): [string, number] => [
    key.toLowerCase(),
    TYPES.indexOf(type),
  ]),
  ...TYPES.flatMap((type, at) =>
    (KNOWN.get(type) ?? []).map((name): [string, number] => [lowerKey(tokenize(name)), at]),
  ),
])
const OPENERS = new Set(Array.from(PHRASES.keys(), (key) => key.split(' ', 1)[0]))

/** Marks each token: 0, or 1 + 2 × type (+ 1 after the first word) of the longest known name. */
export const knownNameMarks = (tokens: readonly Token[]): Uint8Array => {
  const marks = new Uint8Array(tokens.length)
  for (const [at, token] of tokens.entries()) {
    if (marks[at] !== 0 || !OPENERS.has(token.lower)) continue
    for (let size = Math.min(LONGEST, tokens.length - at); size > 0; size -= 1) {
      const type = PHRASES.get(lowerKey(tokens.slice(at, at + size)))
      if (type === undefined) continue
      marks.fill(2 + type * 2, at, at + size)
      marks[at] = 1 + type * 2
      break
    }
  }
  return marks
}

const NAME_WORDS = [givenNames, GIVEN, FAMILY, cues.corporateSuffix]

/** True if a word is a given or family name or a suffix of companies, or some are a known name. */
export const hasKnownName = (tokens: readonly Token[]): boolean =>
  tokens.some(({ lower }) => NAME_WORDS.some((list) => list.has(lower))) ||
  knownNameMarks(tokens).some((mark) => mark > 0)
