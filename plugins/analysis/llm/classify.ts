import type { Classification, ClassifyTask } from '../engine.ts'
import { type Judgement, part, type Question, rounded, versionOf } from './question.ts'

const GUIDE =
  'You sort a text into categories that the user names, each with a number, and perhaps a ' +
  'description and examples. For every category that may fit, tell its number and how sure ' +
  'you are that it fits; leave out those that do not. Judge by what the text is about, not by' +
  ' words that it shares with a name. If several_may_hold is false, exactly one category is ' +
  'right, and your numbers share 1 among them.'

/** Labels at least this likely hold, where several may, or none. */
const LIKELY = 0.5

const schemaOf = (count: number) =>
  part.object({
    scores: part.list(
      part.object({
        category: { type: 'integer', minimum: 1, maximum: count },
        confidence: part.share,
      }),
      count,
    ),
  })

export const CLASSIFY_VERSION = versionOf(GUIDE, schemaOf(1))

/** Confidences by the place of the category in the request. */
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

const judge = (given: Answer['scores'], task: ClassifyTask): Judgement<Scores> => {
  const { categories, multiLabel, allowNone } = task
  const scores = categories.map(() => 0)
  for (const { category, confidence } of given) scores[category - 1] = confidence
  const sum = totalOf(scores)
  if (sum === 0 && !allowNone) return { issues: ['/scores: name the likeliest category at least'] }
  if (multiLabel) return { value: scores, dropped: 0 }
  if (allowNone) return { value: sum > 1 ? scores.map((one) => one / sum) : scores, dropped: 0 }
  return { value: shared(scores, sum), dropped: 0 }
}

const totalOf = (scores: Scores): number => scores.reduce((total, one) => total + one, 0)

/**
 * One of them is right, so they share 1: what the model was not sure of goes to the categories
 * that it left out, but to none more than half of the least that it named.
 */
const shared = (scores: Scores, sum: number): Scores => {
  const left = scores.filter((one) => one === 0).length
  const least = Math.min(...scores.filter((one) => one > 0))
  const rest = left === 0 ? 0 : Math.min(least / 2, Math.max(0, 1 - sum) / left)
  const filled = scores.map((one) => one || rest)
  const whole = totalOf(filled)
  return filled.map((one) => one / whole)
}

/** What the pieces of a text say, each by its length. */
export const mergeScores = (
  pieces: readonly { readonly length: number; readonly scores: Scores }[],
): Scores => {
  const whole = pieces.reduce((sum, { length }) => sum + length, 0)
  const [first] = pieces
  return (first?.scores ?? []).map((_, index) =>
    pieces.reduce((sum, { length, scores }) => sum + ((scores[index] ?? 0) * length) / whole, 0),
  )
}

/** All categories, the likeliest first, and those that hold. */
export const choose = (scores: Scores, task: ClassifyTask): Classification => {
  const { categories, multiLabel, allowNone } = task
  const ranked = categories
    .map(({ name }, index) => ({ name, confidence: rounded(scores[index] ?? 0), index }))
    .toSorted((a, b) => b.confidence - a.confidence || a.index - b.index)
  const likely = ranked.filter(({ confidence }, rank) =>
    multiLabel ? confidence >= LIKELY : rank === 0 && (!allowNone || confidence >= LIKELY),
  )
  const chosen = likely.length > 0 || allowNone ? likely : ranked.slice(0, 1)
  return {
    categories: ranked,
    labels: chosen.map(({ name }) => name),
    abstained: chosen.length === 0,
  }
}
