import type { Token } from './tokens.ts'
import { isNegation, isOpinion, type Opinion } from './valence.ts'

/**
 * Complaints and praise without words of the opinion lexicon: what is late, missing or leaks, does
 * not work or keeps failing. The polarity model was trained without them.
 */
const FAULTS = new Set(
  (
    'late unhelpful noisy smelled smells smelly burnt overheats leaks leaking ' +
    'overcharged unanswered wrong missing filthy'
  ).split(' '),
)
const MERITS = new Set('polite kind reliable sharp quick intuitive satisfied'.split(' '))
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

const MERIT_VALENCE = 1.5
const NEGATION_REACH = 3

const valenceAt = (tokens: readonly Token[], at: number): number => {
  const token = tokens[at]
  if (token === undefined) return 0
  const absent = absentTrouble(tokens, at)
  if (absent !== 0 || isOpinion(token)) return absent
  const { lower } = token
  const negated = tokens.slice(Math.max(0, at - NEGATION_REACH), at).some(isNegation)
  if (FUNCTIONS.has(lower)) return negated ? FAULT_VALENCE : 0
  if (FAULTS.has(lower)) return negated ? 0 : FAULT_VALENCE
  if (MERITS.has(lower)) return negated ? FAULT_VALENCE : MERIT_VALENCE
  const next = tokens[at + 1]?.lower ?? ''
  const isStop = /^(?:stops|stopped|quit)$/.test(lower) && next.endsWith('ing')
  const isBreakdown = /^(?:fell|came|falls|comes)$/.test(lower) && /^(?:off|apart)$/.test(next)
  const isCut = /^(?:cuts|cut|times|timed|drops)$/.test(lower) && next === 'out'
  return isStop || isBreakdown || isCut ? FAULT_VALENCE : 0
}

/** Opinions on a sentence that the lexicon lacks, in order. */
export const complaintsIn = (tokens: readonly Token[]): Opinion[] =>
  tokens.flatMap((token, at): Opinion[] => {
    const valence = valenceAt(tokens, at)
    const { text, start, end } = token
    return valence === 0 ? [] : [{ text, start, end, at, valence, negated: false }]
  })
