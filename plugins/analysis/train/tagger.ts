import { bestLabels, emissionsOf, type Weights } from '../tagger/decode.ts'
import { type Features, featuresOf } from '../tagger/features.ts'
import { LABELS, labelsOf, TAG_TYPES, type TagType } from '../tagger/labels.ts'
import { casesOf, type WordTraits } from '../tagger/traits.ts'
import { sentencesOf } from '../text.ts'
import type { Words } from '../words.ts'
import type { LabeledText } from './corpora.ts'
import type { Random } from './random.ts'

/** Features of a sentence and the labels of its tokens. */
export interface Example {
  readonly features: Features
  readonly labels: Uint8Array
}

const typeOf = (type: string): TagType | undefined => {
  if (type === 'date' || type === 'amount') return undefined
  return TAG_TYPES.find((one) => one === type) ?? 'other'
}

/** Examples of a text. Omits names that do not start and end at token boundaries. */
export const examplesOf = (
  { text, entities }: LabeledText,
  words: Words,
  traitCache: Map<string, WordTraits>,
): Example[] => {
  const sentences = sentencesOf(text)
  const cases = casesOf(sentences)
  return sentences.map((sentence) => {
    const { tokens } = sentence
    const labels = new Uint8Array(tokens.length)
    for (const [start, end, given] of entities) {
      const type = typeOf(given)
      if (type === undefined || start < sentence.start || end > sentence.end + 1) continue
      const from = tokens.findIndex((token) => token.start === start)
      const exact = tokens.findIndex((token) => token.end === end)
      // The full stop of `Inc.` belongs to the name but may be outside the sentence.
      const to = exact < 0 ? tokens.findIndex((token) => token.end === end - 1) : exact
      if (from >= 0 && to >= from) labels.set(labelsOf(type, to - from + 1), from)
    }
    return { features: featuresOf(sentence, cases, words, traitCache), labels }
  })
}

interface WeightTable {
  readonly emission: Float32Array
  readonly transition: Float32Array
}
interface SumTable {
  readonly emission: Float64Array
  readonly transition: Float64Array
}

/** Averaged structured perceptron (Collins 2002). */
export class Perceptron {
  readonly bits: number
  readonly weights: WeightTable
  /** Sum of all changes times their step: the average is the state minus its share of this sum. */
  readonly sums: SumTable
  step = 0

  constructor(bits: number) {
    const size = (1 << bits) * LABELS
    this.bits = bits
    this.weights = {
      emission: new Float32Array(size),
      transition: new Float32Array(LABELS * LABELS),
    }
    this.sums = {
      emission: new Float64Array(size),
      transition: new Float64Array(LABELS * LABELS),
    }
  }

  /** Trains on all examples once, in random order. */
  train(examples: readonly Example[], random: Random): void {
    const weights = { bits: this.bits, scale: 1, ...this.weights }
    for (const at of random.order(examples.length)) {
      const example = examples[at]
      if (example === undefined) continue
      this.step += 1
      const predicted = bestLabels(emissionsOf(weights, example.features), weights.transition)
      this.#correct(example, predicted)
    }
  }

  /** Averaged weights so far. */
  average(): Weights {
    const share = (state: Float32Array, sums: Float64Array): Float32Array =>
      Float32Array.from(state, (one, at) => one - (sums[at] ?? 0) / (this.step + 1))
    return {
      bits: this.bits,
      scale: 1,
      emission: share(this.weights.emission, this.sums.emission),
      transition: share(this.weights.transition, this.sums.transition),
    }
  }

  #correct({ features: { hashes, offsets }, labels }: Example, predicted: Uint8Array): void {
    const mask = (1 << this.bits) - 1
    const { weights: now, sums: late } = this
    for (let at = 0; at < labels.length; at += 1) {
      const right = labels[at] ?? 0
      const wrong = predicted[at] ?? 0
      const end = offsets[at + 1] ?? 0
      const first = right === wrong ? end : (offsets[at] ?? 0)
      for (let from = first; from < end; from += 1) {
        const base = ((hashes[from] ?? 0) & mask) * LABELS
        this.#move(now.emission, late.emission, base + right, 1)
        this.#move(now.emission, late.emission, base + wrong, -1)
      }
      const passedRight = (labels[at - 1] ?? 0) * LABELS + right
      const passedWrong = (predicted[at - 1] ?? 0) * LABELS + wrong
      if (at === 0 || passedRight === passedWrong) continue
      this.#move(now.transition, late.transition, passedRight, 1)
      this.#move(now.transition, late.transition, passedWrong, -1)
    }
  }

  #move(state: Float32Array, sums: Float64Array, at: number, by: number): void {
    state[at] = (state[at] ?? 0) + by
    sums[at] = (sums[at] ?? 0) + by * this.step
  }
}
