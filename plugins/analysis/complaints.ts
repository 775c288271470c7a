import { readFileSync } from 'node:fs'
import type { Token } from './tokens.ts'
import { isNegation, isOpinion, type Opinion } from './valence.ts'

/** Nouns that the lexicon counts as praise, although they are what an opinion is about. */
const TOPICS = new Set('support value interest security care share product products'.split(' '))
/** True for a noun in the lexicon: after an adjective or an article, `terrible support`. */
export const isTopic = (tokens: readonly Token[], at: number): boolean => {
  const before = tokens[at - 1]
  return (
    TOPICS.has(tokens[at]?.lower ?? '') &&
    before !== undefined &&
    (isOpinion(before) || /^(?:the|their|your|customer|technical|tech)$/.test(before.lower))
  )
}

/** Nouns for what may go wrong: praise after `no`, as in `no complaints`. */
const TROUBLES = new Set(
  (
    'complaint complaints issue issues problem problems regret regrets fault faults flaw flaws ' +
    'bug bugs error errors trouble troubles hassle hassles delay delays surprises downside ' +
    'downsides'
  ).split(' '),
)
const REPAIRS = new Set(
  (
    'fix fixes fixed fixing solve solves solved solving resolve resolves resolved resolving ' +
    'address addresses addressed addressing repair repairs repaired repairing remove removes ' +
    'removed removing eliminate eliminates eliminated eliminating patch patches patched patching'
  ).split(' '),
)
/** Things that are named after trouble: `no error handling`. */
const REMEDIES = new Set(
  (
    'handling tracker tracking report reports reporting fix fixes message messages log logs ' +
    'tolerance correction'
  ).split(' '),
)
const DEGREES = new Set('small minor fewer less'.split(' '))
const AUXILIARIES = new Set('is are was were has have had been being get gets got ever'.split(' '))
const RELIEF_VALENCE = 2
const FAULT_VALENCE = -1.6
const MERIT_VALENCE = 1.5

/**
 * Returns the valence of a noun of trouble of which there is none, or 0: praise, unless it was not
 * repaired (`fixed no bugs`), its remedy is absent, or it is large (`no small problem`).
 */
const absentTrouble = (tokens: readonly Token[], at: number): number => {
  const word = (n: number): string => tokens[n]?.lower ?? ''
  if (!TROUBLES.has(word(at))) return 0
  const none = [at - 1, at - 2].find((n) => /^(?:no|zero|without)$/.test(word(n)))
  if (none === undefined) return 0
  const between = none === at - 2 ? word(at - 1) : ''
  const verb = word(none - 1).endsWith('ly') ? word(none - 2) : word(none - 1)
  let after = at + 1
  while (AUXILIARIES.has(word(after))) after += 1
  const isUnrepaired =
    REPAIRS.has(between) ||
    (REPAIRS.has(verb) && word(none) !== 'without') ||
    (REPAIRS.has(word(after)) && word(after).endsWith('ed'))
  const isFault = isUnrepaired || REMEDIES.has(word(at + 1)) || DEGREES.has(between)
  return isFault ? FAULT_VALENCE : RELIEF_VALENCE
}

/** True for a noun of trouble of which there is none, whose valence in the lexicon is wrong. */
export const isAbsentTrouble = (tokens: readonly Token[], at: number): boolean =>
  absentTrouble(tokens, at) !== 0

/** Verbs of a working thing; a complaint after a negation. */
const FUNCTIONS = new Set(
  (
    'work load open close turn start connect arrive arrived respond charge log find process ' +
    'processed delivered reply replied answer answers fit move boot install play sync'
  ).split(' '),
)
const FAILURE =
  /^(?:(?:is|was|were|has|have|had) )?(?:not|never|cannot|\w+n't) (?:been |yet )?(\w+)/
/** True for the noun of `my order never arrived`, which elsewhere is no aspect. */
export const isFailing = (tokens: readonly Token[], at: number): boolean => {
  const after = tokens.slice(at + 1, at + 5).map(({ lower }) => lower)
  const [, verb = ''] = FAILURE.exec(after.join(' ')) ?? []
  return FUNCTIONS.has(verb) && /^(?:the|my|our|your|their|this)$/.test(tokens[at - 1]?.lower ?? '')
}

/** Patterns of complaints, then of praise. */
const [FAULT, MERIT] = ['-', '+'].map((sign) => {
  const path = new URL('./data/complaints.txt', import.meta.url)
  const lines = readFileSync(path, 'utf8').split('\n')
  const patterns = lines.filter((line) => line.startsWith(sign)).map((line) => line.slice(2))
  return new RegExp(`(?<=^| )(?:${patterns.join('|')})(?= |$)`, 'g')
}) as [RegExp, RegExp]
const NEGATION_REACH = 3

/** Opinions that the lexicon lacks, and the index of the token after each. */
export interface Complaint extends Opinion {
  readonly until: number
}

/** Complaints and praise in a sentence, in order. */
export const complaintsIn = (tokens: readonly Token[]): Complaint[] => {
  let line = ''
  const at = new Map<number, number>()
  for (const [index, { lower }] of tokens.entries()) {
    at.set(line.length, index)
    line += `${lower.replaceAll('’', "'")} `
  }
  const read = (pattern: RegExp, valence: number): Complaint[] =>
    [...line.trimEnd().matchAll(pattern)].map(({ index, 0: match }) => {
      const from = at.get(index) ?? 0
      const until = at.get(index + match.length + 1) ?? tokens.length
      const before = tokens.slice(Math.max(0, from - NEGATION_REACH), from)
      const isNegated = before.some(isNegation)
      return { ...opinionAt(tokens, from, until, isNegated ? Math.min(0, -valence) : valence), until }
    })
  const troubles = tokens.flatMap((_, from) => {
    const valence = absentTrouble(tokens, from)
    return valence === 0 ? [] : [{ ...opinionAt(tokens, from, from + 1, valence), until: from + 1 }]
  })
  const found = [...read(MERIT, MERIT_VALENCE), ...troubles, ...read(FAULT, FAULT_VALENCE)]
  return found
    .filter((one, index) => !found.slice(0, index).some((other) => overlaps(one, other)))
    .filter(({ at, until, valence }) => valence !== 0 && !(until === at + 1 && isKnown(tokens, at)))
    .sort((a, b) => a.at - b.at)
}

const overlaps = (a: Complaint, b: Complaint): boolean => a.at < b.until && b.at < a.until

/** True for a word of the lexicon that is no absent trouble. */
const isKnown = (tokens: readonly Token[], at: number): boolean => {
  const token = tokens[at]
  return token !== undefined && isOpinion(token) && absentTrouble(tokens, at) === 0
}

const opinionAt = (
  tokens: readonly Token[],
  from: number,
  until: number,
  valence: number,
): Opinion => ({
  text: tokens
    .slice(from, until)
    .map(({ text }) => text)
    .join(' '),
  start: tokens[from]?.start ?? 0,
  end: tokens[until - 1]?.end ?? 0,
  at: from,
  valence,
  negated: false,
})
