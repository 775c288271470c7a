import { expect } from 'chai'
import * as fc from 'fast-check'
import { exampleOf, membersWithoutSample, sampleOf } from '../../../core/testing/example.ts'
import { alignedFormatter } from '../../../server/web/format.ts'
import { fieldList } from '../../../server/web/schema-fields.ts'
import { shortHash, timeAgo } from '../../../server/web/table.ts'

/** Keywords of JSON Schema that examples are made of. */
const KEYWORDS = (
  '$ref $defs type examples default enum const allOf anyOf oneOf format minLength maxLength ' +
  'minimum minItems items properties required'
).split(' ')

describe('formats of pages', () => {
  it('amounts of a column are aligned at the decimal point without rounding', () => {
    const amounts = fc.array(fc.bigInt({ min: -(10n ** 15n), max: 10n ** 15n }), { minLength: 1 })
    expect(alignedFormatter([1_234_567_500_000n])(1_234_567_500_000n)).to.equal('$1,234,567.50')
    fc.assert(
      fc.property(amounts, (all) => {
        const texts = all.map(alignedFormatter(all))
        const decimals = texts.map((text) => text.length - text.indexOf('.'))
        expect(new Set(decimals).size).to.equal(1)
        const read = texts.map((text) => BigInt(text.replace(/[$.,]/g, '')))
        const unit = 10n ** BigInt(7 - decimals[0]!)
        expect(read.map((amount) => amount * unit)).to.deep.equal(all)
      }),
    )
  })

  it('an example of a schema stays short for any schema', () => {
    const text = { type: 'string', minLength: 1e9 }
    const list = { type: 'array', minItems: 1e9, items: text }
    const nested = { type: 'array', minItems: 1e9, items: list }
    expect(exampleOf({ type: 'string', minLength: 20 })).to.have.length.greaterThan(19)
    expect(exampleOf({ type: 'array', minItems: 3, items: {} })).to.have.length(3)
    for (const schema of [text, list, nested]) {
      expect(JSON.stringify(exampleOf(schema)).length).to.be.at.most(2_000_000)
    }
  })

  it('a sample has only values that its schema names, and is none without one', () => {
    const city = { type: 'string' }
    const schema = { type: 'object', properties: { city, day: city }, required: ['city'] }
    expect(sampleOf(schema)).to.equal(undefined)
    expect(exampleOf(schema), 'a placeholder').to.deep.equal({ city: '<city>' })
    for (const named of [{ examples: ['Oslo'] }, { default: 'Oslo' }, { enum: ['Oslo', 'Rome'] }]) {
      const properties = { city: { ...city, ...named } }
      expect(sampleOf({ ...schema, properties })).to.deep.equal({ city: 'Oslo' })
    }
    expect(sampleOf({ type: 'array', items: city })).to.equal(undefined)
    expect(sampleOf({ type: 'integer', minimum: 3 })).to.equal(3)
    expect(sampleOf({ type: 'string', format: 'date' })).to.match(/^20/)
  })

  it('an example follows references, parts and variants, and no value of another type', () => {
    const city = { type: ['null', 'string'], examples: ['Oslo'] }
    const $defs = {
      City: city,
      Place: {
        allOf: [{ properties: { city: { $ref: '#/$defs/City' } } }, { required: ['city'] }],
      },
      Tree: { type: 'object', properties: { in: { $ref: '#/$defs/Tree' } }, required: ['in'] },
    }
    const place = { $ref: '#/$defs/Place' }
    const members = { to: place, by: { oneOf: [{ enum: ['car'] }, { type: 'integer' }] } }
    const schema = {
      $defs,
      type: 'object',
      properties: members,
      anyOf: [{ required: ['to', 'by'] }, { not: { required: ['to'] } }],
    }
    expect(sampleOf(schema)).to.deep.equal({ to: { city: 'Oslo' }, by: 'car' })
    expect(membersWithoutSample({ ...schema, anyOf: undefined, required: ['to'] })).to.be.empty
    expect(sampleOf({ type: 'integer', default: '7', examples: ['8'] })).to.equal(undefined)
    expect(sampleOf({ type: 'string', default: 'b', enum: ['a'] })).to.equal('a')
    expect(JSON.stringify(exampleOf({ $defs, $ref: '#/$defs/Tree' })).length).to.be.below(200)
  })

  it('an example of a schema of a stranger may be none, and never fails', () => {
    const odd = [{ required: true }, { allOf: {} }, { anyOf: 1 }, { items: null, type: 'array' }]
    const nested = { $ref: 7, properties: { a: null, b: 3 }, required: ['a', 'b'] }
    for (const schema of [...odd, nested]) {
      expect(() => exampleOf({ type: 'object', ...schema } as object)).not.to.throw()
    }
    const keyword = fc.constantFrom(...KEYWORDS)
    const type = fc.constantFrom('object', 'array', 'string', 'integer')
    const wild = fc.tuple(type, fc.dictionary(keyword, fc.jsonValue()))
    fc.assert(
      fc.property(wild, ([of, rest]) => {
        const schema = { type: of, required: ['a'], properties: { a: rest }, ...rest }
        for (const read of [exampleOf, sampleOf, membersWithoutSample]) read(schema)
      }),
      { numRuns: 300 },
    )
  })

  it('an example of a schema whose references multiply takes no longer than others', () => {
    const again = { allOf: Array.from({ length: 500 }, () => ({ $ref: '#/$defs/again' })) }
    const start = performance.now()
    exampleOf({ $ref: '#/$defs/again', $defs: { again } })
    expect(performance.now() - start).to.be.below(5_000) // all of them: hours
  })

  it('a hash is shortened for the eye alone, and copied as a whole', () => {
    const hash = `0x${'ab'.repeat(32)}`
    const { text } = shortHash(hash, '/x')
    const plain = text.replaceAll(/<[^>]*>/g, '')
    expect(plain.startsWith(hash), 'for readers and printers').to.equal(true)
    expect(text).to.include(`data-copy="${hash}"`).and.to.include('href="/x"')
    expect(shortHash('0x1234').text).to.equal('<code>0x1234</code>')
  })

  it('times are relative within a week, with the UTC time at hand', () => {
    const now = new Date('2026-11-21T12:00:00Z')
    const textOf = (at: string) => {
      const shown = timeAgo(at, now)
      return typeof shown === 'string' ? shown : shown.text
    }
    const TEXTS = {
      '2026-11-21T11:59:30Z': '>just now<',
      '2026-11-21T11:58:30Z': '>1 minute ago<',
      '2026-11-21T09:00:00Z': '>3 hours ago<',
      '2026-11-19T11:00:00Z': '>2 days ago<',
      '2026-11-22T13:00:00Z': '>in 1 day<',
      '2026-11-13T12:00:00Z': '>2026-11-13<',
    }
    for (const [at, text] of Object.entries(TEXTS)) expect(textOf(at), at).to.include(text)
    expect(textOf('2026-11-21T09:00:00Z')).to.include('title="2026-11-21 09:00 UTC"')
    expect(timeAgo(null)).to.equal('–')
  })

  it('fields of third-party schemas are listed safely or left out', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (field, required) => {
        const schema = { type: 'object', properties: { one: field }, required }
        const { text = '' } = fieldList(schema) ?? {}
        expect(text).not.to.match(/undefined|\[object/)
      }),
    )
    const { text } = fieldList({
      properties: { city: { anyOf: [{ type: 'string', description: '<b>Any</b>' }] } },
      required: ['city'],
    })!
    expect(text).to.include('string, required').and.to.include('&#60;b&#62;Any')
  })
})
