import cueLists from './data/entity-cues.json' with { type: 'json' }
import { wordList, words } from './lexicon.ts'
import { type Token, tokenize } from './tokens.ts'

/** The kinds of names that the engine tells apart. */
export type NameType = 'person' | 'organization' | 'location' | 'product'

const setOf = (list: string): ReadonlySet<string> => new Set(list.split(' '))

/** Words that tell, beside or within a name, what it names. All in lower case. */
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

export const givenNames = lower(words('given-names.txt'))
export const plainWords = words('function-words.txt')
/** Capitalised words that name nothing we look for, in lower case. */
export const notNames = lower(words('capitalized.txt'))

/** A phrase joined by single spaces between its tokens, the key of the gazetteer. */
export const keyOf = (tokens: readonly Token[]): string => tokens.map(({ text }) => text).join(' ')

const LISTS: readonly (readonly [NameType, string])[] = [
  ['product', 'products.txt'],
  ['organization', 'organizations.txt'],
  ['location', 'places.txt'],
]

/** The known names by their key; the keys of shouted (upper case) forms map to the same type. */
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

/** No known name has more tokens. */
export const LONGEST_NAME = 5
