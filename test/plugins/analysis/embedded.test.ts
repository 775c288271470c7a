import { existsSync, readdirSync, statSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import * as fc from 'fast-check'
import { newsOf } from '../../../plugins/analysis/finance.ts'
import { tagNames } from '../../../plugins/analysis/names.ts'
import { serializePolarity } from '../../../plugins/analysis/polarity.ts'
import { bestLabels, marginalsOf, type Weights } from '../../../plugins/analysis/tagger/decode.ts'
import { BEFORE, LABELS, MAY_BEGIN, MAY_END } from '../../../plugins/analysis/tagger/labels.ts'
import { serializeWeights } from '../../../plugins/analysis/tagger/model.ts'
import { sentencesOf } from '../../../plugins/analysis/text.ts'
import { curveOf } from '../../../plugins/analysis/train/calibrate.ts'
import { type LabeledText, readTexts } from '../../../plugins/analysis/train/corpora.ts'
import { randomFrom } from '../../../plugins/analysis/train/random.ts'
import {
  type LabeledOpinion,
  suggestValence,
  trainPolarity,
} from '../../../plugins/analysis/train/sentiment.ts'
import { examplesOf, Perceptron } from '../../../plugins/analysis/train/tagger.ts'
import { readCompressed, words } from '../../../plugins/analysis/words.ts'
import { extractEntities } from './support.ts'

const DATA = fileURLToPath(new URL('../../../plugins/analysis/data/', import.meta.url))
const UCI_SENTENCES = fileURLToPath(
  new URL('../../../../shared/data/analysis/dev/sent_uci_half.jsonl', import.meta.url),
)

const TEXTS: readonly LabeledText[] = [
  {
    text: 'Zorblat visited Quuxton.',
    entities: [
      [0, 7, 'person'],
      [16, 23, 'location'],
    ],
  },
  { text: 'We met Zorblat at noon.', entities: [[7, 14, 'person']] },
  {
    text: 'Flurb Inc. moved to Quuxton.',
    entities: [
      [0, 10, 'organization'],
      [20, 27, 'location'],
    ],
  },
]

/** Trains a small tagger from scratch. */
const trainSmallTagger = (): Weights => {
  const remember = new Map()
  const examples = TEXTS.flatMap((text) => examplesOf(text, words(), remember))
  const tagger = new Perceptron(14)
  const random = randomFrom(1)
  for (let epoch = 0; epoch < 20; epoch += 1) tagger.train(examples, random)
  return tagger.average()
}

/** All valid label sequences of a length. */
const sequences = (size: number): number[][] => {
  const all = Array.from({ length: LABELS }, (_, label) => label)
  let paths = all.filter((label) => MAY_BEGIN[label]).map((label) => [label])
  for (let at = 1; at < size; at += 1) {
    paths = paths.flatMap((path) =>
      all.filter((to) => BEFORE[to]?.includes(path.at(-1) ?? 0)).map((to) => [...path, to]),
    )
  }
  return paths.filter((path) => MAY_END[path.at(-1) ?? 0])
}

const scores = fc.double({ min: -3, max: 3, noNaN: true })
const model = fc.tuple(
  fc.array(scores, { minLength: 3 * LABELS, maxLength: 3 * LABELS }),
  fc.array(scores, { minLength: LABELS ** 2, maxLength: LABELS ** 2 }),
)

describe('analysis: the embedded engine', () => {
  it('learns the names in its examples, with identical bytes each time', () => {
    const weights = trainSmallTagger()
    expect(
      Buffer.compare(serializeWeights(weights), serializeWeights(trainSmallTagger())),
    ).to.equal(0)
    for (const { text, entities } of TEXTS) {
      const named = tagNames(text, sentencesOf(text), weights)
      expect(named.map(({ start, end, type }) => [start, end, type])).to.deep.equal(entities)
    }
  })

  it('finds the best valid label sequence, with probabilities that sum to 1', () => {
    const paths = sequences(3)
    fc.assert(
      fc.property(model, ([emissions, passages]) => {
        const emission = Float64Array.from(emissions)
        const transition = Float32Array.from(passages)
        const scoreOf = (path: readonly number[]): number =>
          path.reduce(
            (sum, label, at) =>
              sum +
              (emission[at * LABELS + label] ?? 0) +
              (at > 0 ? (transition[(path[at - 1] ?? 0) * LABELS + label] ?? 0) : 0),
            0,
          )
        const best = Math.max(...paths.map(scoreOf))
        expect(scoreOf([...bestLabels(emission, transition)])).to.be.closeTo(best, 1e-6)
        const total = paths.reduce((sum, path) => sum + Math.exp(scoreOf(path)), 0)
        const chances = marginalsOf(emission, transition, 1)
        const label = paths[7]?.[1] ?? 0
        const through = paths.filter((path) => path[1] === label)
        const share = through.reduce((sum, path) => sum + Math.exp(scoreOf(path)), 0) / total
        expect(chances[LABELS + label]).to.be.closeTo(share, 1e-6)
      }),
      { numRuns: 20 },
    )
  })

  it('increases confidence with the margin, between 0 and 1', () => {
    const answer = fc.record({
      margin: fc.double({ min: 0, max: 1, noNaN: true }),
      isRight: fc.boolean(),
    })
    fc.assert(
      fc.property(fc.array(answer, { minLength: 1, maxLength: 300 }), (answers) => {
        const curve = curveOf(answers)
        for (const [at, [margin, share]] of curve.entries()) {
          expect(share).to.be.within(0, 1)
          expect(margin).to.be.above(curve[at - 1]?.[0] ?? -1)
          expect(share).to.be.at.least(curve[at - 1]?.[1] ?? 0)
        }
      }),
    )
  })

  it('finds names in headlines, lower-case text and tables', () => {
    const named = (text: string): string[] =>
      extractEntities({ text }).result.entities.map(({ type, text: name }) => `${type}: ${name}`)
    expect(named('MERKEL MEETS PUTIN IN BERLIN')).to.include('location: BERLIN')
    expect(named('i moved from chicago to london last week')).to.include.members([
      'location: chicago',
      'location: london',
    ])
    expect(named('The Iraqi government spoke with Turkish officials.')).to.deep.equal([])
  })

  it('judges business news by direction, not by positive words', () => {
    const news = (text: string): number =>
      sentencesOf(text)
        .flatMap((sentence) => newsOf(sentence) ?? [])
        .reduce((sum, { valence }) => sum + valence, 0)
    expect(news('Operating profit rose to EUR 13.1 mn from EUR 8.7 mn.')).to.be.above(0)
    expect(news('Operating profit fell to EUR 8.7 mn from EUR 13.1 mn.')).to.be.below(0)
    expect(news('Costs increased by 12 percent in the quarter.')).to.be.below(0)
    expect(
      news('The company had a loss of EUR 3 mn compared to a profit of EUR 2 mn.'),
    ).to.be.below(0)
  })

  it('ships a tagger below 1 MB and at most 8 MB of data', () => {
    const sizes = readdirSync(DATA).map((file) => statSync(`${DATA}${file}`).size)
    expect(statSync(`${DATA}names.br`).size).to.be.below(1_000_000)
    expect(sizes.reduce((sum, size) => sum + size, 0)).to.be.below(8_000_000)
  })

  it('reproduces its polarity model from the corpus, byte for byte', function () {
    if (!existsSync(UCI_SENTENCES)) return this.skip()
    const again = trainPolarity(readTexts<LabeledOpinion>(UCI_SENTENCES), suggestValence())
    expect(Buffer.compare(serializePolarity(again), readCompressed('sentiment.br'))).to.equal(0)
  })
})
