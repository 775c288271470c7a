import cueLists from './data/entity-cues.json' with { type: 'json' }
import { readWordSet, wordList } from './lexicon.ts'
import { type Token, tokenize } from './tokens.ts'

/** Types of names that the engine distinguishes. */
export type NameType = 'person' | 'organization' | 'location' | 'product'

const setOf = (list: string): ReadonlySet<string> => new Set(list.split(' '))

/** Words, in lower case, that indicate the type of a name beside or around them. */
export const cues = {
  honorific: setOf(cueLists.honorific),
  role: setOf(cueLists.role),
  corporateSuffix: setOf(cueLists.corporateSuffix),
  organizationHead: setOf(cueLists.organizationHead),
  locationHead: setOf(cueLists.locationHead),
  locationFirst: setOf(cueLists.locationFirst),
  place: setOf(cueLists.place),
  direction: setOf(cueLists.direction),
  said: setOf(cueLists.said),
  organizationAfter: setOf(cueLists.organizationAfter),
  organizationBefore: setOf(cueLists.organizationBefore),
  particles: setOf(cueLists.particles),
}

const lower = (set: Iterable<string>): ReadonlySet<string> =>
  new Set(Array.from(set, (word) => word.toLowerCase()))

export const givenNames = lower(readWordSet('given-names.txt'))
export const plainWords = readWordSet('function-words.txt')
/** Capitalized words that are not names, in lower case. */
export const notNames = lower(readWordSet('capitalized.txt'))

/** Gazetteer key: the tokens of a phrase joined by single spaces. */
export const keyOf = (tokens: readonly Token[]): string => tokens.map(({ text }) => text).join(' ')

const LISTS: readonly (readonly [NameType, string])[] = [
  ['product', 'products.txt'],
  ['organization', 'organizations.txt'],
  ['location', 'places.txt'],
]

/** Known names by key; upper-case forms map to the same type. */
export const gazetteer: ReadonlyMap<string, NameType> = new Map(
  LISTS.flatMap(([type, file]) =>
    wordList(file).flatMap((name): [string, NameType][] => {
      const key = keyOf(tokenize(name))
      const shouted = key.toUpperCase()
      return shouted === key || shouted.length < 4
        ? [[key, type]]
        : [
            [key, type],
            [shouted, type],
          ]
    }),
  ),
)

/** Maximum tokens of a known name. */
export const LONGEST_NAME = 5
