import type { Sentence } from './text.ts'
import type { Token } from './tokens.ts'
import type { Opinion } from './valence.ts'

/** In business reports direction decides: rising profit is good news, rising costs are bad. */
const wordsOf = (list: string): ReadonlySet<string> => new Set(list.split(' '))

/** Measures whose rise is good news. */
const GAINS = wordsOf(
  'profit profits sales revenue revenues turnover earnings income ebit ebitda margin margins ' +
    'profitability orders deliveries dividend volume volumes output production demand traffic ' +
    'exports growth backlog share shares stock price prices market bookings passengers eps cash ' +
    'net operating pretax shipments guidance order productivity efficiency capacity',
)
/** Measures whose rise is bad news. */
const LOSSES = wordsOf(
  'loss losses cost costs expenses expense debt deficit unemployment charges impairment ' +
    'writedowns layoffs inflation liabilities spending redundancies',
)
const RISES = wordsOf(
  'rise rises rose risen rising increase increases increased increasing grow grows grew grown ' +
    'growing climb climbs climbed jump jumps jumped surge surges surged soar soared soars gain ' +
    'gained gains improve improved improves improving up higher doubled tripled strengthen ' +
    'strengthened strengthens expand expanded expands expanding exceed exceeded exceeds topped ' +
    'accelerate accelerated upgraded recovered rebounded boost boosted boosts raised outperform',
)
const FALLS = wordsOf(
  'fall falls fell fallen falling decrease decreases decreased decreasing decline declines ' +
    'declined declining drop drops dropped dropping down lower lowered slump slumped slumps ' +
    'plunge plunged plunges plummeted shrink shrank shrunk slip slipped slid tumble tumbled ' +
    'weakened weaker weaken contracted dipped downgraded reduced reduce cut cuts cutting ' +
    'narrowed narrow halved eased slowed worsened deteriorated underperform',
)
/** Words for events that are good or bad news by themselves. */
const GOOD = wordsOf(
  'won wins awarded inked signed successful successfully record strong stronger ' +
    'strongest outperformed ' +
    'beat savings improvement improvements synergies breakthrough positive profitable innovative ' +
    'leading boost benefit benefits expand enhance enhances strengthen win rewarded favourable',
)
const BAD = wordsOf(
  'bankruptcy bankrupt lawsuit warned warning layoffs redundancies dismissed strike recession ' +
    'downturn weak weaker weakest lost losing negative delay delayed delays suspended terminated ' +
    'cancelled shortfall missed fraud fine fined troubles difficult unprofitable ' +
    'rejected snag lay-offs loss-making halt halted closure poor disappointing',
)
const MONEY = wordsOf(
  'eur usd euro euros mn mln bn percent pct million billion kroons crowns sek dkk nok m €  $ £',
)
const COMPANY_WORDS = wordsOf(
  'company oyj corporation plc group shareholders contract agreement subsidiary quarter fiscal ' +
    'stock acquisition board ceo manufacturer supplier operations annual nasdaq hel helsinki omx',
)
const PERIOD = wordsOf(
  'quarter year half month period 2005 2006 2007 2008 2009 2010 2011 q1 q2 q3 q4',
)

const count = (tokens: readonly Token[], list: ReadonlySet<string>): number => {
  let sum = 0
  for (const { lower } of tokens) if (list.has(lower)) sum += 1
  return sum
}

/** True if a sentence reports on business: measures with figures, companies or periods. */
const isBusinessReport = (tokens: readonly Token[]): boolean => {
  const signals = count(tokens, MONEY) + count(tokens, COMPANY_WORDS)
  if (signals === 0) return false
  const measures = count(tokens, GAINS) + count(tokens, LOSSES)
  return signals + measures + Math.min(1, count(tokens, PERIOD)) >= 2
}

const MEASURE_WINDOW = 14
const WEIGHT = 2

/** Opinions of a business report; undefined for other sentences. */
export const newsOf = ({ tokens }: Sentence): Opinion[] | undefined => {
  if (!isBusinessReport(tokens)) return undefined
  return tokens.flatMap((token, at): Opinion[] => {
    const valence = directionOf(tokens, at) || comparisonOf(tokens, at) || eventOf(token)
    if (valence === 0) return []
    const { text, start, end } = token
    return [{ text, start, end, at, valence, negated: false }]
  })
}

const eventOf = ({ lower }: Token): number => (GOOD.has(lower) ? 1.2 : BAD.has(lower) ? -1.5 : 0)

const directionOf = (tokens: readonly Token[], at: number): number => {
  const lower = tokens[at]?.lower ?? ''
  const direction = RISES.has(lower) ? 1 : FALLS.has(lower) ? -1 : 0
  if (direction === 0) return 0
  const kind = nearestMeasure(tokens, at)
  return kind * direction * WEIGHT
}

/** 1 for a gain, -1 for a loss, 0 if no measure is near. Looks before the token first. */
const nearestMeasure = (tokens: readonly Token[], at: number): number => {
  for (const step of [-1, 1]) {
    for (let distance = 1; distance <= MEASURE_WINDOW; distance += 1) {
      const lower = tokens[at + step * distance]?.lower
      if (lower === undefined || lower === ';') break
      if (LOSSES.has(lower)) return -1
      if (GAINS.has(lower)) return 1
    }
  }
  return 0
}

const COMPARISON = wordsOf('compared from against versus vs')
const TOKENS_BEFORE = 12
const TOKENS_AFTER = 8

/** Valence of a comparison: `to EUR 13.1 mn from EUR 8.7 mn`. */
const comparisonOf = (tokens: readonly Token[], at: number): number => {
  if (!COMPARISON.has(tokens[at]?.lower ?? '')) return 0
  const before = tokens.slice(Math.max(0, at - TOKENS_BEFORE), at)
  const after = tokens.slice(at + 1, at + 1 + TOKENS_AFTER)
  const kind = nearestMeasure(tokens, at)
  const turned = after.some(({ lower }) => (kind < 0 ? /^(?:net )?profit$/ : /^loss$/).test(lower))
  if (turned) return kind * WEIGHT
  const now = figuresIn(before).at(-1)
  const then = figuresIn(after)[0]
  if (kind === 0 || now === undefined || then === undefined) return 0
  return kind * Math.sign(now - then) * WEIGHT
}

/** Numbers among the tokens, without years. */
const figuresIn = (tokens: readonly Token[]): number[] =>
  tokens.flatMap(({ shape, text }, at) => {
    const isFraction = tokens[at - 1]?.text === '.' && tokens[at - 2]?.shape === 'number'
    if (shape !== 'number' || isFraction) return []
    const next = tokens[at + 1]?.text === '.' ? tokens[at + 2] : undefined
    const value = Number(next?.shape === 'number' ? `${text}.${next.text}` : text)
    const isYear = Number.isInteger(value) && value >= 1900 && value <= 2100
    return isYear || Number.isNaN(value) ? [] : [value]
  })
