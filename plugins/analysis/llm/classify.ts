import type { Classification, ClassifyTask } from '../engine.ts'
import {
  type Judgment,
  type Question,
  roundToThousandths,
  schemaPart,
  versionOf,
} from './question.ts'

const GUIDE =
  'You sort a text into categories that the user names, each with a number, and perhaps a ' +
  'description and examples. For every category that may fit, tell its number and how sure ' +
  'you are that it fits; leave out those that do not. Judge by what the text is about, not by' +
  ' words that it shares with a name. If several_may_hold is false, exactly one category is ' +
  'right, and your numbers share 1 among them.'

/** Minimum confidence of a label if several labels or none may apply. */
const CONFIDENCE_MIN = 0.5

const schemaOf = (count: number) =>
  schemaPart.object({
    scores: schemaPart.list(
      schemaPart.object({
        category: { type: 'integer', minimum: 1, maximum: count },
        confidence: schemaPart.share,
      }),
      count,
    ),
  })

export const CLASSIFY_VERSION = versionOf(GUIDE, schemaOf(1))

/** Confidences by the position of the category in the request. */
export type Scores = readonly number[]

export const classifyQuestion = (text: string, task: ClassifyTask): Question<Scores> => {
  const { categories, multiLabel, allowNone } = task
  return {
    guide: GUIDE,
    details: {
      several_may_hold: multiLabel,
      none_may_hold: allowNone,
      categories: categories.map((category, index) => ({ category: index + 1, ...category })),
    },
    text,
    schema: schemaOf(categories.length),
    expectedTokens: 40 + Math.min(categories.length, 40) * 14,
    judge: (value) => judge((value as Answer).scores, task),
  }
}

interface Answer {
  readonly scores: readonly { readonly category: number; readonly confidence: number }[]
}

const judge = (given: Answer['scores'], task: ClassifyTask): Judgment<Scores> => {
  const { categories, multiLabel, allowNone } = task
  const scores = categories.map(() => 0)
  for (const { category, confidence } of given) scores[category - 1] = confidence
  const sum = totalOf(scores)
  if (sum === 0 && !allowNone) return { issues: ['/scores: name the likeliest category at least'] }
  if (multiLabel) return { value: scores, dropped: 0 }
  if (allowNone) return { value: sum > 1 ? scores.map((one) => one / sum) : scores, dropped: 0 }
  return { value: normalizeScores(scores, sum), dropped: 0 }
}

const totalOf = (scores: Scores): number => scores.reduce((total, one) => total + one, 0)

/** Omitted categories share what is left of 1: each at most half of the lowest named score. */
const normalizeScores = (scores: Scores, sum: number): Scores => {
  const left = scores.filter((one) => one === 0).length
  const least = Math.min(...scores.filter((one) => one > 0))
  const rest = left === 0 ? 0 : Math.min(least / 2, Math.max(0, 1 - sum) / left)
  const filled = scores.map((one) => one || rest)
  const whole = totalOf(filled)
  return filled.map((one) => one / whole)
}

/** Averages the scores of all chunks, weighted by length. */
export const mergeScores = (
  pieces: readonly { readonly length: number; readonly scores: Scores }[],
): Scores => {
  const whole = pieces.reduce((sum, { length }) => sum + length, 0)
  const [first] = pieces
  return (first?.scores ?? []).map((_, index) =>
    pieces.reduce((sum, { length, scores }) => sum + ((scores[index] ?? 0) * length) / whole, 0),
  )
}

/** Ranks all categories and selects those that apply. */
export const choose = (scores: Scores, task: ClassifyTask): Classification => {
  const { categories, multiLabel, allowNone } = task
  const ranked = categories
    .map(({ name }, index) => ({ name, confidence: roundToThousandths(scores[index] ?? 0), index }))
    .toSorted((a, b) => b.confidence - a.confidence || a.index - b.index)
  const likely = ranked.filter(({ confidence }, rank) =>
    multiLabel
      ? confidence >= CONFIDENCE_MIN
      : rank === 0 && (!allowNone || confidence >= CONFIDENCE_MIN),
  )
  const chosen = likely.length > 0 || allowNone ? likely : ranked.slice(0, 1)
  return {
    categories: ranked,
    labels: chosen.map(({ name }) => name),
    abstained: chosen.length === 0,
  }
}
