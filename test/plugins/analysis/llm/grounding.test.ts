import { expect } from 'chai'
import * as fc from 'fast-check'
import { envelopeOf } from '../../../../plugins/analysis/envelope.ts'
import { remoteEngine } from '../../../../plugins/analysis/llm/engine.ts'
import type { Model } from '../../../../plugins/analysis/llm/model.ts'
import { type ModelSettings, readEngines } from '../../../../plugins/analysis/llm/settings.ts'
import { spanFinder } from '../../../../plugins/analysis/llm/span-finder.ts'
import { Spending } from '../../../../plugins/analysis/llm/spending.ts'
import { type Request, readRequest } from '../../../../plugins/analysis/request.ts'
import { OFFSET_UNITS, wellFormed } from '../../../../plugins/analysis/text.ts'
import { anyText, sliceIn } from '../support.ts'

const [settings] = readEngines(
  JSON.stringify([
    {
      name: 'm',
      dialect: 'ollama',
      url: 'http://m.test',
      model: 'm',
      input_price: 0,
      output_price: 0,
      chunk_characters: 1_000,
    },
  ]),
) as [ModelSettings]

/** Runs a request with a model that returns `say(text)`. */
async function runWithModel(request: Request, say: (shown: unknown) => unknown) {
  const model: Model = async ({ messages }) => {
    const [, shown = ''] = /\n<text-[0-9a-f]+>\n(.*)\n<\/text-/s.exec(messages[0]?.text ?? '') ?? []
    return { text: JSON.stringify(say(JSON.parse(shown))), finish: 'stop' }
  }
  const parsedRequest = readRequest(request)
  const signal = new AbortController().signal
  const result = await remoteEngine(settings, model).answer(
    parsedRequest,
    new Spending(settings),
    signal,
  )
  return envelopeOf(parsedRequest, result, 0) as unknown as {
    readonly result: never
    readonly warnings: readonly { readonly code: string }[]
  }
}

/** Words of a text, an invented one and a misspelled one. */
const namesIn = (text: string) => [
  ...new Set(
    text
      .split(/\s+/)
      .filter((word) => word !== '')
      .slice(0, 6),
  ),
]

describe('analysis: spans of what a model names', () => {
  it('match whole words, exactly or regardless of case, spaces and quotes', () => {
    const text = 'The Café “Zürich” – 10\u00a0000 guests. Artists like Art; Zu\u0308rich too.'
    const found = (surface: string) =>
      spanFinder(text)
        .all(surface)
        .map(({ start, end }) => text.slice(start, end))
    expect(found('Art')).to.deep.equal(['Art'])
    expect(found('café "zürich"')).to.deep.equal(['Café “Zürich”'])
    expect(found('10 000')).to.deep.equal(['10\u00a0000'])
    expect(found('Zürich')).to.deep.equal(['Zürich'])
    expect(found('zu\u0308rich')).to.deep.equal(['Zürich', 'Zu\u0308rich'])
    for (const absent of ['', ' ', 'rtist', 'Zu', '\ud83d', 'London']) {
      expect(found(absent), absent).to.deep.equal([])
    }
    expect(spanFinder('👩‍👩‍👧 e\u0301').all('👩')).to.deep.equal([])
    expect(spanFinder('東京都').all('東京')).to.deep.equal([{ start: 0, end: 2 }])
  })

  it('slice the same words in every unit, in any text, whatever the model returns', async () => {
    const cases = fc.asyncProperty(
      anyText,
      fc.constantFrom(...OFFSET_UNITS),
      fc.array(fc.oneof(anyText, fc.string({ unit: 'binary' })), { maxLength: 3 }),
      async (text, offset_unit, made) => {
        const request: Request = {
          id: 'call',
          endpoint: 'extract-entities',
          input: { text, offset_unit },
        }
        const { result } = await runWithModel(request, (shown) => ({
          entities: [...namesIn(String(shown)), ...made].map((name, nth) => ({
            text: name,
            type: nth % 2 ? 'person' : 'location',
            confidence: 0.5,
          })),
        })).catch((error: { reason?: string }) => {
          expect(error).to.include({ reason: 'bad_output' }) // most of it was made up
          return { result: { entities: [] } as never }
        })
        const { entities } = result as { entities: { text: string; start: number; end: number }[] }
        let last = 0
        for (const { text: words, start, end } of entities) {
          expect(sliceIn(wellFormed(text), offset_unit, start, end)).to.equal(words)
          expect(start).to.be.at.least(last)
          last = end
        }
      },
    )
    await fc.assert(cases, { numRuns: 150 })
  })

  it('cover sentences, mentions and evidence', async () => {
    const cases = fc.asyncProperty(
      anyText,
      fc.constantFrom(...OFFSET_UNITS),
      async (text, offset_unit) => {
        const request: Request = { id: 'call', endpoint: 'sentiment', input: { text, offset_unit } }
        const { result } = await runWithModel(request, (shown) => {
          const sentences = shown as [number, string][]
          const words = namesIn(sentences.map(([, sentence]) => sentence).join(' '))
          return {
            overall: { label: 'mixed', score: 0, confidence: 0.5 },
            sentences: sentences.map(([sentence]) => ({ sentence, label: 'positive', score: 0.5 })),
            aspects: words.map((word) => ({
              aspect: word,
              label: 'negative',
              score: -0.5,
              confidence: 0.5,
              mentions: [word],
              evidence: [{ text: word, negated: false }],
            })),
          }
        })
        const { sentences, aspects } = result as {
          sentences: { start: number; end: number; score: number }[]
          aspects: {
            mentions: { start: number; end: number }[]
            evidence: { text: string; start: number; end: number }[]
          }[]
        }
        const whole = wellFormed(text)
        for (const { start, end, score } of sentences) {
          expect(sliceIn(whole, offset_unit, start, end).trim()).to.not.equal('')
          expect(score).to.equal(0.5)
        }
        for (const one of aspects.flatMap(({ evidence }) => evidence)) {
          expect(sliceIn(whole, offset_unit, one.start, one.end)).to.equal(one.text)
        }
      },
    )
    await fc.assert(cases, { numRuns: 60 })
  })

  it('are found once across chunk borders, with offsets in the whole text', async () => {
    const filler = 'Nothing is said here at all. '.repeat(33)
    const text = `Ada met Bob. ${filler}Then Ada wrote to Bob Ross. ${filler}Ada left.`
    const { result } = await runWithModel(
      { id: 'call', endpoint: 'extract-entities', input: { text, entity_types: ['People'] } },
      (shown) => ({
        entities: ['Ada', 'Bob Ross', 'Bob']
          .filter((name) => String(shown).includes(name))
          .map((name) => ({ text: name, type: 'person', confidence: 0.9 })),
      }),
    )
    const { entities, counts } = result as {
      entities: { text: string; start: number; count_in_text: number }[]
      counts: object
    }
    expect(entities.map(({ text: name }) => name)).to.deep.equal([
      'Ada',
      'Bob',
      'Ada',
      'Bob Ross',
      'Ada',
    ])
    expect(entities[0]).to.include({ count_in_text: 3 })
    expect(counts).to.deep.equal({ person: 5 })
    for (const { text: name, start } of entities) expect(text.indexOf(name, start)).to.equal(start)
  })

  it('replace offsets in the caller’s own format, or are null', async () => {
    const text = '😀 Ada met Bob, and Bob left.'
    const { result } = await runWithModel(
      {
        id: 'call',
        endpoint: 'analyze',
        input: {
          text,
          instructions: 'List the people with offsets.',
          output_format: '{"people":[{"name":"string","start":1,"end":1}],"mood":"good|bad"}',
        },
      },
      () => ({
        output: {
          people: [
            { name: 'Bob', start: 0, end: 99 },
            { name: 'Bob', start: 1, end: 2 },
            { name: 'Eve', start: 3, end: 4 },
          ],
          mood: null,
        },
      }),
    )
    expect(result).to.deep.include({
      output: {
        people: [
          { name: 'Bob', start: 10, end: 13 },
          { name: 'Bob', start: 19, end: 22 },
          { name: 'Eve', start: null, end: null },
        ],
        mood: null,
      },
      unresolved: ['/people/2/start', '/people/2/end', '/mood'],
    })
  })
})
