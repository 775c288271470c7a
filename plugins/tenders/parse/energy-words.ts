import { readFileSync } from 'node:fs'
import { distinct } from './values.ts'

const LINES = readFileSync(new URL('../data/energy-words.txt', import.meta.url), 'utf8')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'))
  .map((line) => line.split(' '))
const stemsOf = (lines: readonly (readonly string[])[]): string[] =>
  distinct(lines.flatMap(([, ...stems]) => stems.map((stem) => stem.replaceAll('-', ' '))))

/** Beginnings of words, of all languages together: a notice may be in several. */
const STEMS = stemsOf(LINES)
/** Those that are also used of lamps, vehicles and wiring. */
const GENERIC = stemsOf(LINES.filter(([language]) => language === 'generic'))
const WORDS = new RegExp(`(?<![\\p{L}\\p{N}])(?:${STEMS.join('|')})\\p{L}{0,30}`, 'giu')
/** A number and a unit of power, energy or voltage, as in `400 kV`. */
const UNITS = new RegExp(
  '(?<![\\p{L}\\p{N}.,])\\d[\\d.,]{0,15}\\s?' +
    '(?:kV|MVA|kVA|kWp|MWp|MW|GW|kWh|MWh|GWh|TWh)(?![\\p{L}\\p{N}])',
  'gu',
)

const MOST = 10
const READ_MAX = 200_000

/** Words and units of energy in a text, each once, at most ten. */
export const energyWordsIn = (text: string): string[] => {
  const read = text.slice(0, READ_MAX)
  const found = new Set<string>()
  for (const pattern of [UNITS, WORDS]) {
    for (const [word] of read.matchAll(pattern)) {
      found.add(word.toLowerCase().replaceAll(/\s+/g, ' '))
      if (found.size >= MOST) return [...found]
    }
  }
  return [...found]
}

/** Returns true if a word that `energyWordsIn` found is used of little else than energy. */
export const isSpecific = (word: string): boolean => !GENERIC.some((stem) => word.startsWith(stem))
