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

const LINES = readFileSync(new URL('./data/complaints.txt', import.meta.url), 'utf8').split('\n')
const patternsOf = (sign: string): string =>
  LINES.filter((line) => line.startsWith(sign))
    .map((line) => line.slice(2))
    .join('|')
/** Failures such as `never arrived` and `doesn't properly close`. */
const NEGATED_VERB =
  "(?:not|never|cannot|\\w{1,15}n't) (?:been |yet |even |always )?(?:\\w{1,15}ly )?" +
  `(?:${patternsOf('!')})`
/** The leading blank finds matches faster than a lookbehind. */
const onWords = (patterns: string): RegExp => new RegExp(` (?:${patterns})(?= )`, 'g')
const FAULTS = ['-', '=']
  .map(patternsOf)
  .concat(NEGATED_VERB)
  .map((patterns) => onWords(patterns))
const MERIT = onWords(patternsOf('+'))

const FAILURE = new RegExp(`^ (?:(?:is|was|were|has|have|had|still) )?${NEGATED_VERB} `)
const FAILURE_TOKENS_MAX = 6
/** True for the noun of `my order never arrived`, which elsewhere is no aspect. */
export const isFailing = (tokens: readonly Token[], at: number): boolean =>
  /^(?:the|my|our|your|their|this)$/.test(tokens[at - 1]?.lower ?? '') &&
  FAILURE.test(lineOf(tokens.slice(at + 1, at + 1 + FAILURE_TOKENS_MAX)).line)

const NEGATION_REACH = 3

/** Opinions that the lexicon lacks, in order. */
export interface Complaints {
  readonly opinions: readonly Opinion[]
  /** Indexes of their tokens, whose valences in the lexicon do not count. */
  readonly tokens: ReadonlySet<number>
}

/** Finds complaints and praise without words of the lexicon in a sentence. */
export const complaintsIn = (tokens: readonly Token[]): Complaints => {
  const opinions: Opinion[] = []
  const taken = new Set<number>()
  const add = (from: number, until: number, valence: number): void => {
    if (valence === 0) return
    const range = Array.from({ length: until - from }, (_, at) => from + at)
    if (range.some((at) => taken.has(at))) return
    for (const at of range) taken.add(at)
    opinions.push(opinionAt(tokens, from, until, valence))
  }
  const { line, indexes } = lineOf(tokens)
  const read = (pattern: RegExp, valence: number): void => {
    pattern.lastIndex = 0
    // Unlike `matchAll`, `exec` does not copy the pattern, which would cost more than a short line.
    for (let found = pattern.exec(line); found !== null; found = pattern.exec(line)) {
      const from = indexes.get(found.index) ?? 0
      const until = indexes.get(pattern.lastIndex) ?? tokens.length
      const first = tokens[from]
      if (until === from + 1 && first !== undefined && isOpinion(first)) continue
      const isNegated = tokens.slice(Math.max(0, from - NEGATION_REACH), from).some(isNegation)
      add(from, until, isNegated ? Math.min(0, -valence) : valence)
    }
  }
  read(MERIT, MERIT_VALENCE)
  for (const at of tokens.keys()) add(at, at + 1, absentTrouble(tokens, at))
  for (const pattern of FAULTS) read(pattern, FAULT_VALENCE)
  return { opinions: opinions.sort((a, b) => a.at - b.at), tokens: taken }
}

/** Lower-case words with a blank around each, and the tokens by the index of the blank before. */
const lineOf = (tokens: readonly Token[]): { line: string; indexes: Map<number, number> } => {
  let line = ''
  const indexes = new Map<number, number>()
  for (const [at, { lower }] of tokens.entries()) {
    indexes.set(line.length, at)
    line += ` ${lower.replaceAll('’', "'")}`
  }
  return { line: `${line} `, indexes }
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
