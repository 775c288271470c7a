import { classify } from './classify.ts'
import {
  type Fact,
  type FactInput,
  factByName,
  factOf,
  normalizeName,
  requestedSources,
} from './facts.ts'
import type { Shape } from './format.ts'
import { formatDay } from './type-phrases.ts'

const CATEGORY = /^(?:category|class|classification|label|type|topic|intent|department)$/

/** Facts of the text and the categories that the instructions name. */
interface FieldContext {
  readonly reading: FactInput
  readonly choices: readonly string[]
}

/** The fact for a field of the output, by its name and shape; the root has an empty name. */
export const factFor = (name: string, shape: Shape, context: FieldContext): Fact | undefined => {
  const { reading } = context
  const named = name === '' ? rootFact(shape, context) : factByName(name, reading)
  if (shape.day !== undefined) return dayFor(name, shape.day, reading)
  const choices = shape.choices ?? (CATEGORY.test(normalizeName(name)) ? context.choices : [])
  if (choices.length === 0) return named
  if (YES_OR_NO.every((word) => choices.some((one) => one.toLowerCase() === word))) {
    const word = YES_OR_NO[named === true ? 0 : 1]
    return typeof named === 'boolean'
      ? choices.find((one) => one.toLowerCase() === word)
      : undefined
  }
  const text = typeof named === 'string' ? named.toLowerCase() : moodAmong(choices, reading)
  const match = choices.find((one) => one.toLowerCase() === text)
  return match ?? (named === undefined ? likeliestChoice(choices, reading) : undefined)
}

const YES_OR_NO = ['yes', 'no'] as const

const MOODS = ['positive', 'negative']
/** Sentiment label, if the choices are such labels. */
const moodAmong = (choices: readonly string[], reading: FactInput): string | undefined =>
  MOODS.every((mood) => choices.some((one) => one.toLowerCase() === mood))
    ? reading.sentiment().overall.label
    : undefined

/** Facts for an output that is not an object, by instructions, then by the words of the format. */
const rootFact = (shape: Shape, { reading }: FieldContext): Fact | undefined => {
  const members = (shape.items?.properties ?? []).map(([key]) => key)
  const requests = [reading.instructions, shape.about ?? '', ...members]
  const sources = requests.flatMap((request) => requestedSources(request))
  if (shape.kind !== 'array') {
    const [first] = sources
    return first === undefined ? undefined : factOf(first, reading)
  }
  const facts = sources.map((source) => factOf(source, reading))
  return facts.find((fact) => Array.isArray(fact)) ?? facts[0]
}

/** Words near the date of a field, besides those of its name. */
const DATE_CUES = new Map([
  ['deadline', /\b(?:deadline|due|by|until|before|no later than|expires?|closing)\b/i],
  ['due', /\b(?:deadline|due|by|until|before|no later than)\b/i],
  ['start', /\b(?:starts?|begins?|from|opens?|since|commences?)\b/i],
  ['end', /\b(?:ends?|until|till|to|through|expires?|closes?)\b/i],
])

/** The day of a field: the only one, or the only one after words of the field's name. */
const dayFor = (name: string, pattern: string, reading: FactInput): string | undefined => {
  const { sentences, document } = reading
  let last = 0
  const days = reading.entities().flatMap(({ type, start, end, value }) => {
    const iso = type === 'date' ? value?.['iso'] : undefined
    const day = typeof iso === 'string' ? formatDay(iso, pattern) : undefined
    if (day === undefined) return []
    const sentence = sentences.findLast((one) => one.start <= start)
    const before = document.text.slice(Math.max(last, sentence?.start ?? 0), start).toLowerCase()
    last = end
    return [{ day, before }]
  })
  const words = normalizeName(name).split(' ')
  const cues = words.flatMap((word) => DATE_CUES.get(word) ?? [])
  const own = words.filter((word) => word.length > 3 && word !== 'date' && word !== 'when')
  const near = days.filter(
    ({ before }) =>
      cues.some((cue) => cue.test(before)) || own.some((word) => before.includes(word)),
  )
  const isNamed = own.length > 0 && cues.length === 0
  const found = new Set((near.length > 0 || isNamed ? near : days).map(({ day }) => day))
  const [only] = found
  return found.size === 1 ? only : undefined
}

/** The most likely choice, if any word of the text supports it. */
const likeliestChoice = (choices: readonly string[], reading: FactInput): string | undefined => {
  const categories = choices.map((name) => ({ name }))
  const mood = reading.sentiment().overall.score
  const [best] = classify(reading.sentences, categories, { several: false, mood })
  return best !== undefined && best.evidence > 0 ? best.name : undefined
}
