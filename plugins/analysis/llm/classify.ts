import type { Classification, ClassifyTask } from '../engine.ts'
import { type Judgement, part, type Question, rounded, versionOf } from './question.ts'

const GUIDE =
  'You sort a text into categories that the user names, each with a number, and perhaps a ' +
  'description and examples. For every category that may fit, tell its number and how sure ' +
  'you are that it fits; leave out those that do not. Judge by what the text is about, not by' +
  ' words that it shares with a name. If several_may_hold is false, exactly one category is ' +
  'right, and your numbers share 1 among them.'

/** Independent labels at least this likely hold. */
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
  const sum = scores.reduce((total, one) => total + one, 0)
  if (sum === 0 && !allowNone) return { issues: ['/scores: name the likeliest category at least'] }
  return { value: multiLabel || sum === 0 ? scores : scores.map((one) => one / sum), dropped: 0 }
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
    multiLabel ? confidence >= LIKELY : rank === 0 && confidence > 0,
  )
  const chosen = likely.length > 0 || allowNone ? likely : ranked.slice(0, 1)
  return {
    categories: ranked,
    labels: chosen.map(({ name }) => name),
    abstained: chosen.length === 0,
  }
}
