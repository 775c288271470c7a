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

/** Word pieces of a sentence, as from BERT. */
const NER = [
  { entity: 'B-PER', score: 0.99, word: 'Maria', index: 1 },
  { entity: 'I-PER', score: 0.97, word: 'Sil', index: 2 },
  { entity: 'I-PER', score: 0.9, word: '##va', index: 3 },
  { entity: 'B-ORG', score: 0.8, word: 'Ac', index: 5 },
  { entity: 'B-ORG', score: 0.7, word: '##me', index: 6 },
  { entity: 'B-MISC', score: 0.7, word: 'Portuguese', index: 8 },
  { entity: 'B-LOC', score: 0.9, word: 'Lisbon', index: 9 },
]

const openedPipelines: unknown[][] = []
const transformers: Transformers = {
  env: { localModelPath: '/else', allowRemoteModels: true },
  pipeline: async (task, model, options) => {
    openedPipelines.push([task, model, options])
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

const runRequest = async (request: Request) => {
  const { found: value, about } = await runOnnx(
    pipelinesOf(transformers, settings),
    settings,
    readRequest(request),
  )
  return { value: value.value as unknown, about }
}

describe('analysis: the ONNX engine', () => {
  it('refuses to start without its package and names what to install', () => {
    expect(() => onnxEngine(settings)).to.throw('npm i @huggingface/transformers')
  })

  it('joins word pieces, locates them in the text and drops invented names', async () => {
    const text = 'Yesterday Maria Silva of Acme, a Portuguese firm, paid 3 EUR.'
    const { value, about } = await runRequest({
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

  it('classifies by the model’s scores and measures sentiment per sentence', async () => {
    const sorted = await runRequest({
      id: 'call',
      endpoint: 'classify',
      input: { text: 'A text.', categories: ['one', { name: 'two', description: 'the second' }] },
    })
    expect(sorted.value).to.deep.include({ labels: ['two'], abstained: false })
    const felt = await runRequest({
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

  it('loads models only from the operator’s folder and downloads nothing', () => {
    expect(transformers.env).to.deep.equal({ localModelPath: '/models', allowRemoteModels: false })
    expect(openedPipelines.map(([, model]) => model)).to.include.members(['ner', 'mood', 'nli'])
    for (const [, , options] of openedPipelines)
      expect(options).to.deep.equal({ local_files_only: true })
  })
})
