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
const RELIEF_VALENCE = 2
/** True for a noun of trouble of which there is none. */
export const isRelief = (tokens: readonly Token[], at: number): boolean =>
  TROUBLES.has(tokens[at]?.lower ?? '') &&
  tokens.slice(Math.max(0, at - 2), at).some(({ lower }) => /^(?:no|zero|without)$/.test(lower))

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

const FAULT_VALENCE = -1.6
const MERIT_VALENCE = 1.5
const NEGATION_REACH = 3

const valenceAt = (tokens: readonly Token[], at: number): number => {
  const token = tokens[at]
  if (token === undefined) return 0
  if (isRelief(tokens, at)) return RELIEF_VALENCE
  if (isOpinion(token)) return 0
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
