import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isDemonym } from '../tagger/lists.ts'
import type { Random } from './random.ts'

/** A text with its names: start, end (UTF-16), type. */
export interface Labelled {
  readonly text: string
  readonly entities: readonly (readonly [number, number, string])[]
}

/** Development files whose licences allow a model to learn from them, within the data folder. */
export const LEARNT = {
  names: ['dev/ner_ewt_dev.jsonl', 'dev/ner_wnut17_dev.jsonl'],
  moods: ['dev/sent_uci_half.jsonl'],
} as const

/** The texts of a JSONL file. */
export const readTexts = <T>(path: string): T[] =>
  readFileSync(path, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as T)

/** The files of a folder with labelled names, by name. */
export const nameFiles = (folder: string): string[] =>
  readdirSync(folder)
    .filter((file) => file.startsWith('ner_') && file.endsWith('.jsonl'))
    .sort()
    .map((file) => join(folder, file))

/**
 * The same text, its labels brought to one convention: a user's handle is no name, and a word for
 * the people of a place is not the place.
 */
export const conventional = ({ text, entities }: Labelled): Labelled => ({
  text,
  entities: entities.flatMap(([start, end, type]) => {
    const name = text.slice(start, end).toLowerCase()
    if (name.startsWith('@') || text[start - 1] === '@') return []
    const isPlace = type === 'location' || type === 'organization'
    return [[start, end, isPlace && isDemonym(name) ? 'other' : type] as const]
  }),
})

const capitalized = (text: string): string =>
  text.replace(/\p{L}+/gu, (word) => word.charAt(0).toUpperCase() + word.slice(1))

/** What share of the texts is also shown in another case, as people write and headlines are. */
const CASES: readonly (readonly [number, (text: string) => string])[] = [
  [0.06, (text) => text.toUpperCase()],
  [0.06, (text) => text.toLowerCase()],
  [0.02, capitalized],
]

/** Now and then the text in another case; it keeps its length, or is left out. */
export const recased = ({ text, entities }: Labelled, random: Random): Labelled[] => {
  let chance = random.share()
  for (const [share, change] of CASES) {
    if (chance < share) {
      const changed = change(text)
      return changed.length === text.length ? [{ text: changed, entities }] : []
    }
    chance -= share
  }
  return []
}
