import { bestLabels, emissionsOf, type Weights } from '../tagger/decode.ts'
import { type Features, featuresOf } from '../tagger/features.ts'
import { LABELS, labelsOf, TAGGED, type Tagged } from '../tagger/labels.ts'
import { casesOf, type Trait } from '../tagger/traits.ts'
import { sentencesOf } from '../text.ts'
import type { Words } from '../words.ts'
import type { Labelled } from './corpora.ts'
import type { Random } from './random.ts'

/** A sentence as features, and what its tokens should be labelled. */
export interface Example {
  readonly features: Features
  readonly labels: Uint8Array
}

const typeOf = (type: string): Tagged | undefined => {
  if (type === 'date' || type === 'amount') return undefined
  return TAGGED.find((one) => one === type) ?? 'other'
}

/** The sentences of a text. Names that do not begin and end with tokens of one are left out. */
export const examplesOf = (
  { text, entities }: Labelled,
  words: Words,
  remember: Map<string, Trait>,
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
      // The full stop of `Inc.` belongs to the name, but may lie beyond the sentence.
      const to = exact < 0 ? tokens.findIndex((token) => token.end === end - 1) : exact
      if (from >= 0 && to >= from) labels.set(labelsOf(type, to - from + 1), from)
    }
    return { features: featuresOf(sentence, cases, words, remember), labels }
  })
}

interface Table {
  readonly emission: Float32Array
  readonly transition: Float32Array
}
interface Sums {
  readonly emission: Float64Array
  readonly transition: Float64Array
}

/**
 * An averaged structured perceptron (Collins 2002): whenever the best labels of a sentence are
 * wrong, the weights move towards the right ones; the mean of all states is what has been learnt.
 */
export class Perceptron {
  readonly bits: number
  readonly now: Table
  /** All changes times the moment they were made: the mean is the state less its share of them. */
  readonly late: Sums
  time = 0

  constructor(bits: number) {
    const size = (1 << bits) * LABELS
    this.bits = bits
    this.now = {
      emission: new Float32Array(size),
      transition: new Float32Array(LABELS * LABELS),
    }
    this.late = {
      emission: new Float64Array(size),
      transition: new Float64Array(LABELS * LABELS),
    }
  }

  /** Reads all examples once, in random order. */
  read(examples: readonly Example[], random: Random): void {
    const weights = { bits: this.bits, scale: 1, ...this.now }
    for (const at of random.order(examples.length)) {
      const example = examples[at]
      if (example === undefined) continue
      this.time += 1
      const told = bestLabels(emissionsOf(weights, example.features), weights.transition)
      this.#correct(example, told)
    }
  }

  /** What has been learnt so far. */
  mean(): Weights {
    const share = (state: Float32Array, sums: Float64Array): Float32Array =>
      Float32Array.from(state, (one, at) => one - (sums[at] ?? 0) / (this.time + 1))
    return {
      bits: this.bits,
      scale: 1,
      emission: share(this.now.emission, this.late.emission),
      transition: share(this.now.transition, this.late.transition),
    }
  }

  #correct({ features: { hashes, offsets }, labels }: Example, told: Uint8Array): void {
    const mask = (1 << this.bits) - 1
    const { now, late } = this
    for (let at = 0; at < labels.length; at += 1) {
      const right = labels[at] ?? 0
      const wrong = told[at] ?? 0
      const end = offsets[at + 1] ?? 0
      const first = right === wrong ? end : (offsets[at] ?? 0)
      for (let from = first; from < end; from += 1) {
        const base = ((hashes[from] ?? 0) & mask) * LABELS
        this.#move(now.emission, late.emission, base + right, 1)
        this.#move(now.emission, late.emission, base + wrong, -1)
      }
      const passedRight = (labels[at - 1] ?? 0) * LABELS + right
      const passedWrong = (told[at - 1] ?? 0) * LABELS + wrong
      if (at === 0 || passedRight === passedWrong) continue
      this.#move(now.transition, late.transition, passedRight, 1)
      this.#move(now.transition, late.transition, passedWrong, -1)
    }
  }

  #move(state: Float32Array, sums: Float64Array, at: number, by: number): void {
    state[at] = (state[at] ?? 0) + by
    sums[at] = (sums[at] ?? 0) + by * this.time
  }
}
