import { expect } from 'chai'
import * as fc from 'fast-check'
import { OFFSET_UNITS, wellFormed } from '../../../plugins/analysis/text.ts'
import { anyText, extractEntities, sliceIn } from './support.ts'

const entitiesOf = (text: string) =>
  extractEntities({ text }).result.entities.map(({ type, text }) => `${type}: ${text}`)

describe('analysis: entities', () => {
  it('never throws; spans slice the text in every unit, sorted and without overlaps', () => {
    fc.assert(
      fc.property(anyText, fc.constantFrom(...OFFSET_UNITS), (raw, offset_unit) => {
        const text = wellFormed(raw)
        let last = 0
        for (const entity of extractEntities({ text: raw, offset_unit }).result.entities) {
          expect(sliceIn(text, offset_unit, entity.start, entity.end)).to.equal(entity.text)
          expect(entity.start).to.be.at.least(last)
          expect(entity.confidence).to.be.within(0, 1)
          last = entity.end
        }
      }),
    )
  })

  it('finds people, organizations, places, dates, amounts and products in prose', () => {
    const text =
      'Acme Inc. chairman Tim Cook said on 12 May 2024 in Lisbon that sales rose 5% to ' +
      '$90.8 billion. Dr. Jane Smith of the University of Oxford bought an iPhone 15.'
    expect(entitiesOf(text)).to.deep.equal([
      'organization: Acme Inc.',
      'person: Tim Cook',
      'date: 12 May 2024',
      'location: Lisbon',
      'amount: 5%',
      'amount: $90.8 billion',
      'person: Jane Smith',
      'organization: University of Oxford',
      'product: iPhone 15',
    ])
  })

  it('includes the model in the name of a product', () => {
    const names =
      'iPhone 15 Pro Max,Galaxy S24 Ultra,RTX 4090 Ti,iPhone SE,Galaxy Z Fold 5,' +
      'Galaxy Watch 6 Classic,Xbox Series X,ThinkPad X1 Carbon Gen 11,Kindle Paperwhite 5'
    for (const name of names.split(',')) {
      expect(entitiesOf(`We bought the ${name} yesterday.`)).to.include(`product: ${name}`)
    }
    expect(entitiesOf('The Model 3 Long Range is here.')).to.include('product: Model 3 Long Range')
    expect(entitiesOf('The iPhone 15 is here.')).to.include('product: iPhone 15')
    expect(entitiesOf('He dropped the iPhone Pro 12 times.')).to.include('product: iPhone Pro')
    expect(entitiesOf('An iPad Pro 12.9 arrived.')).to.include('product: iPad Pro')
  })

  it('recognizes a person again by surname alone', () => {
    expect(entitiesOf('Maria Kowalczyk sings. Everyone praised Kowalczyk.')).to.deep.equal([
      'person: Maria Kowalczyk',
      'person: Kowalczyk',
    ])
  })

  it('does not treat a capitalized sentence start as a name', () => {
    expect(
      entitiesOf('The weather is fine. However, nothing happened. We went home.'),
    ).to.deep.equal([])
  })

  it('returns only the requested types, in any number and case of their names', () => {
    const { entities, counts } = extractEntities({
      text: 'Angela Merkel met 300 people in Berlin.',
      entity_types: ['PEOPLE', 'Locations'],
    }).result
    expect(entities.map(({ text }) => text)).to.deep.equal(['Angela Merkel', 'Berlin'])
    expect(counts).to.deep.equal({ person: 1, location: 1 })
  })

  it('refuses an unknown type and lists the valid ones', () => {
    expect(() => extractEntities({ text: 'x', entity_types: ['colour'] }))
      .to.throw()
      .that.includes({ code: 'unsupported_entity_type', status: 422 })
      .and.has.nested.property('extras.allowed')
  })

  it('warns about lone surrogates and keeps offsets unchanged', () => {
    const { warnings, result } = extractEntities({ text: '\ud800 Berlin', offset_unit: 'utf16' })
    expect(warnings.map(({ code }) => code)).to.include('lone_surrogates_replaced')
    expect(result.entities[0]).to.include({ text: 'Berlin', start: 2, end: 8 })
  })

  it('handles single-token, upper-case, lower-case and markup texts', () => {
    const hostile = ['a', 'A', '<b>', 'X.', "'s", '((((', 'Aa ', 'John ', 'of '].map((piece) =>
      piece.repeat(51_200 / piece.length),
    )
    for (const text of [...hostile, '<p>Hello <b>World</b></p>', '\0\ufeff\r\n.']) {
      expect(extractEntities({ text }).result.entities).to.be.an('array')
    }
  })

  it('refuses a blank text', () => {
    expect(() => extractEntities({ text: ' \r\n\t\u00a0' }))
      .to.throw()
      .that.includes({ code: 'empty_text' })
  })
})
