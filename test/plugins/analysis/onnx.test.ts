import { expect } from 'chai'
import type { OnnxSettings } from '../../../plugins/analysis/llm/settings.ts'
import { onnxEngine } from '../../../plugins/analysis/onnx/index.ts'
import { pipelinesOf, type Transformers } from '../../../plugins/analysis/onnx/pipelines.ts'
import { runOnnx } from '../../../plugins/analysis/onnx/run.ts'
import { type Request, readRequest } from '../../../plugins/analysis/request.ts'

const settings: OnnxSettings = {
  name: 'onnx',
  dialect: 'onnx',
  folder: '/models',
  entities: 'ner',
  sentiment: 'mood',
  classify: 'nli',
}

/** Pieces of words, as a BERT has them, of a sentence. */
const NER = [
  { entity: 'B-PER', score: 0.99, word: 'Maria', index: 1 },
  { entity: 'I-PER', score: 0.97, word: 'Sil', index: 2 },
  { entity: 'I-PER', score: 0.9, word: '##va', index: 3 },
  { entity: 'B-ORG', score: 0.8, word: 'Ac', index: 5 },
  { entity: 'B-ORG', score: 0.7, word: '##me', index: 6 },
  { entity: 'B-MISC', score: 0.7, word: 'Portuguese', index: 8 },
  { entity: 'B-LOC', score: 0.9, word: 'Lisbon', index: 9 },
]

const opened: unknown[][] = []
const transformers: Transformers = {
  env: { localModelPath: '/else', allowRemoteModels: true },
  pipeline: async (task, model, options) => {
    opened.push([task, model, options])
    return async (text, labels) => {
      if (task === 'token-classification') return NER as never
      const isGood = String(text).includes('good')
      if (task === 'text-classification') {
        return [
          { label: 'POSITIVE', score: isGood ? 0.9 : 0.2 },
          { label: 'NEGATIVE', score: isGood ? 0.1 : 0.8 },
        ] as never
      }
      return { labels: (labels as string[]).toReversed(), scores: [0.8, 0.2] } as never
    }
  },
}

const found = async (request: Request) => {
  const { found: value, about } = await runOnnx(
    pipelinesOf(transformers, settings),
    settings,
    readRequest(request),
  )
  return { value: value.value as unknown, about }
}

describe('analysis: the ONNX engine', () => {
  it('does not start without its package, and says what to install', () => {
    expect(() => onnxEngine(settings)).to.throw('npm i @huggingface/transformers')
  })

  it('puts pieces of words together and finds them; what it made up is left out', async () => {
    const text = 'Yesterday Maria Silva of Acme, a Portuguese firm, paid 3 EUR.'
    const { value, about } = await found({
      id: 'call',
      endpoint: 'extract-entities',
      input: { text },
    })
    expect(
      (value as { text: string; type: string; start: number }[]).map((one) => [
        one.text,
        one.type,
        one.start,
      ]),
    ).to.deep.equal([
      ['Yesterday', 'date', 0],
      ['Maria Silva', 'person', 10],
      ['Acme', 'organization', 25],
      ['3 EUR', 'amount', 55],
    ])
    expect(about).to.include({ name: 'onnx', model: 'ner', confidence_source: 'model_self_report' })
  })

  it('sorts by its own scores, and feels sentence by sentence', async () => {
    const sorted = await found({
      id: 'call',
      endpoint: 'classify',
      input: { text: 'A text.', categories: ['one', { name: 'two', description: 'the second' }] },
    })
    expect(sorted.value).to.deep.include({ labels: ['two'], abstained: false })
    const felt = await found({
      id: 'call',
      endpoint: 'sentiment',
      input: { text: 'It is good. It is bad.' },
    })
    expect(felt.value).to.deep.include({
      overall: { label: 'mixed', score: 0.1, confidence: 0.85, magnitude: 1.4 },
    })
    expect((felt.value as { sentences: unknown }).sentences).to.deep.equal([
      { start: 0, end: 11, label: 'positive', score: 0.8 },
      { start: 12, end: 22, label: 'negative', score: -0.6 },
    ])
  })

  it('opens models of the operator’s folder alone, and downloads nothing', () => {
    expect(transformers.env).to.deep.equal({ localModelPath: '/models', allowRemoteModels: false })
    expect(opened.map(([, model]) => model)).to.include.members(['ner', 'mood', 'nli'])
    for (const [, , options] of opened) expect(options).to.deep.equal({ local_files_only: true })
  })
})
