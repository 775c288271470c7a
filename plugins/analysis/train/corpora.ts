import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isDemonym } from '../tagger/lists.ts'
import type { Random } from './random.ts'

/** A text with its names: start, end (UTF-16), type. */
export interface LabeledText {
  readonly text: string
  readonly entities: readonly (readonly [number, number, string])[]
}

/** Development files whose licenses allow training, relative to the data folder. */
export const LEARNABLE = {
  names: ['dev/ner_ewt_dev.jsonl', 'dev/ner_wnut17_dev.jsonl'],
  moods: ['dev/sent_uci_half.jsonl'],
} as const

/** Reads a JSONL file. */
export const readTexts = <T>(path: string): T[] =>
  readFileSync(path, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as T)

/** Files of a folder with labeled names, sorted. */
export const nameFiles = (folder: string): string[] =>
  readdirSync(folder)
    .filter((file) => file.startsWith('ner_') && file.endsWith('.jsonl'))
    .sort()
    .map((file) => join(folder, file))

/** Normalizes labels: user handles are not names, and demonyms are not places. */
export const normalizeLabels = ({ text, entities }: LabeledText): LabeledText => ({
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

/** Share of the texts that is repeated in another case, as in chats and headlines. */
const CASE_CHANGES: readonly (readonly [number, (text: string) => string])[] = [
  [0.06, (text) => text.toUpperCase()],
  [0.06, (text) => text.toLowerCase()],
  [0.02, capitalized],
]

/** Changes the case of a random share of the texts; omits those whose length would change. */
export const changeCase = ({ text, entities }: LabeledText, random: Random): LabeledText[] => {
  let chance = random.share()
  for (const [share, change] of CASE_CHANGES) {
    if (chance < share) {
      const changed = change(text)
      return changed.length === text.length ? [{ text: changed, entities }] : []
    }
    chance -= share
  }
  return []
}
