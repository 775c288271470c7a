import { expect } from 'chai'
import * as fc from 'fast-check'
import { exampleOf } from '../../../core/testing/example.ts'
import { alignedFormatter } from '../../../server/web/format.ts'
import { fieldList } from '../../../server/web/schema-fields.ts'

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
