import { Ajv2020 } from 'ajv/dist/2020.js'
import { expect } from 'chai'
import * as fc from 'fast-check'
import { analyze, anyText } from './support.ts'

const TEXT =
  'Acme Inc. chairman Tim Cook said on 12 May 2024 in Lisbon that sales rose 5% to ' +
  '$90.8 billion. The results are excellent. Write to press@acme.example or see ' +
  'https://acme.example/results.'

const ajv = new Ajv2020({ strict: false })
const analyzeAndValidate = (
  output_format: string | Record<string, unknown>,
  instructions = 'Fill it in.',
) => {
  const { result } = analyze({ text: TEXT, instructions, output_format })
  expect(ajv.validate(result.schema, result.output), ajv.errorsText()).to.equal(true)
  return result
}

describe('analysis: analyze', () => {
  it('fills in an example', () => {
    const { output, unresolved } = analyzeAndValidate({
      summary: 'string',
      people: ['name'],
      sentiment: { label: 'positive|negative|neutral|mixed', score: 0.5 },
      money: [{ amount: 1, currency: 'USD' }],
      emails: ['x'],
      wordCount: 0,
      hasDates: true,
      risk: 'a guess',
    })
    expect(output).to.deep.include({
      people: ['Tim Cook'],
      money: [{ amount: 90_800_000_000, currency: 'USD' }],
      emails: ['press@acme.example'],
      hasDates: true,
      risk: null,
    })
    expect(unresolved).to.deep.equal(['/risk'])
  })

  it('fills in a JSON Schema, within its limits', () => {
    const { output } = analyzeAndValidate({
      type: 'object',
      properties: {
        keywords: { type: 'array', items: { type: 'string' }, maxItems: 2 },
        language: { type: 'string', enum: ['en', 'de'] },
        sentiment_score: { type: ['number', 'null'], minimum: -1, maximum: 1 },
        entities: {
          type: 'array',
          items: {
            type: 'object',
            properties: { name: { type: 'string' }, type: { type: 'string' } },
          },
        },
      },
    })
    expect(output).to.have.property('language', 'en')
    expect(output).to.have.property('keywords').with.length(2)
    expect(output)
      .to.have.property('entities')
      .that.deep.includes({ name: 'Tim Cook', type: 'person' })
  })

  it('reads a sketch that is not JSON', () => {
    const { output } = analyzeAndValidate(
      "{summary: string, tags: [string], tone: 'positive' | 'negative',}",
    )
    expect(output).to.have.all.keys('summary', 'tags', 'tone')
    expect(output).to.have.property('tone', 'positive')
  })

  it('derives the fields from the instructions if no format is given', () => {
    const { output } = analyze({
      text: TEXT,
      instructions:
        'Summarize in one sentence and list the people. Classify as sports, business or weather.',
    }).result
    expect(output).to.have.all.keys('summary', 'people', 'category')
    expect(output).to.have.property('category', 'business')
    expect(output)
      .to.have.property('summary')
      .that.matches(/^Acme Inc\. chairman/)
  })

  it('refuses requests for which it can compute nothing', () => {
    expect(() => analyze({ text: TEXT, instructions: 'Translate it to French.' }))
      .to.throw()
      .that.includes({ code: 'unsupported_by_engine', status: 422 })
    expect(() => analyze({ text: TEXT, instructions: 'Guess.', output_format: { risk: 'x' } }))
      .to.throw()
      .that.includes({ code: 'unsupported_by_engine' })
  })

  it('refuses malformed, too deep and too large formats', () => {
    let deep: Record<string, unknown> = {}
    for (let level = 0; level < 40; level += 1) deep = { inner: deep }
    const wide = Object.fromEntries(Array.from({ length: 201 }, (_, index) => [`f${index}`, '']))
    for (const output_format of ['{', '42', '"summary"', deep, wide]) {
      expect(() => analyze({ text: TEXT, instructions: 'Do.', output_format }))
        .to.throw()
        .that.includes({ code: 'invalid_output_format' })
    }
  })

  it('evaluates no patterns and follows no references of a schema', () => {
    const { output } = analyzeAndValidate({
      type: 'object',
      properties: {
        title: { type: 'string', pattern: '^(a+)+$', $ref: 'https://example.test/schema' },
      },
    })
    expect(output).to.have.property('title').that.is.a('string')
  })

  it('treats no field name specially', () => {
    const format = JSON.parse('{"__proto__": "x", "constructor": "x", "summary": "x"}')
    const { output, unresolved } = analyze({
      text: TEXT,
      instructions: 'Fill it in.',
      output_format: format,
    }).result
    expect(Object.keys(output as object)).to.deep.equal(['__proto__', 'constructor', 'summary'])
    expect(unresolved).to.deep.equal(['/__proto__', '/constructor'])
  })

  it('handles any text', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const instructions =
          'Summary, title, keywords, entities, sentiment, aspects, urls, language'
        const { output, schema } = analyze({ text, instructions }).result
        expect(ajv.validate(schema, output)).to.equal(true)
      }),
    )
  })
})
