import { readFileSync } from 'node:fs'
import nlp from 'compromise'
import { listsByKind } from '../lexicon.ts'
import type { Fillers } from './templates.ts'

interface Lexicon {
  readonly one: { readonly lexicon: Readonly<Record<string, string | readonly string[]>> }
}

/** Tags of compromise's lexicon by kind of list. */
const KINDS: Readonly<Record<string, readonly string[]>> = {
  given: ['FirstName', 'MaleName', 'FemaleName'],
  family: ['LastName'],
  person: ['Person'],
  city: ['City'],
  country: ['Country'],
  region: ['Region'],
  location: ['City', 'Country', 'Region'],
  organization: ['Organization', 'SportsTeam'],
  demonym: ['Demonym'],
}
const NAME_LENGTH_MIN = 3

const namesOf = (kind: string): string[] => {
  const { lexicon } = (nlp.model() as unknown as Lexicon).one
  const tags = KINDS[kind] ?? []
  return Object.keys(lexicon)
    .filter((name) => [lexicon[name]].flat().some((tag) => tags.includes(tag ?? '')))
    .filter((name) => name.length >= NAME_LENGTH_MIN && !name.includes('|'))
    .sort()
}

const HEADER =
  '# Known names by kind, in lower case, from the lexicon of compromise (MIT); ' +
  'written by train/main.ts.'

/** Text of `data/known-names.txt`. */
export const knownNames = (): string =>
  [
    HEADER,
    ...['given', 'family', 'person', 'location', 'organization', 'demonym'].map(
      (kind) => `${kind}: ${namesOf(kind).join('|')}`,
    ),
    '',
  ].join('\n')

const capitalized = (name: string): string =>
  name.replace(
    /(^|[\s-])(\p{Ll})/gu,
    (_, before: string, letter: string) => `${before}${letter.toUpperCase()}`,
  )

/** Fillers of the template slots. */
export const fillers = (): Fillers => {
  const lines = readFileSync(new URL('./fillers.txt', import.meta.url), 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
  return new Map([
    ...listsByKind(lines),
    ...['given', 'family', 'city', 'country', 'region'].map(
      (kind) => [kind, namesOf(kind).map(capitalized)] as const,
    ),
  ])
}
