import { expect } from 'chai'
import * as fc from 'fast-check'
import { OFFSET_UNITS, wellFormed } from '../../../plugins/analysis/text.ts'
import { anyText, extract, sliceIn } from './support.ts'

const found = (text: string) =>
  extract({ text }).result.entities.map(({ type, text }) => `${type}: ${text}`)

describe('analysis: entities', () => {
  it('never throws, slices to the text in every unit, sorted and without overlaps', () => {
    fc.assert(
      fc.property(anyText, fc.constantFrom(...OFFSET_UNITS), (raw, offset_unit) => {
        const text = wellFormed(raw)
        let last = 0
        for (const entity of extract({ text: raw, offset_unit }).result.entities) {
          expect(sliceIn(text, offset_unit, entity.start, entity.end)).to.equal(entity.text)
          expect(entity.start).to.be.at.least(last)
          expect(entity.confidence).to.be.within(0, 1)
          last = entity.end
        }
      }),
    )
  })

  it('names people, organizations, places, dates, amounts and products of ordinary prose', () => {
    const text =
      'Acme Inc. chairman Tim Cook said on 12 May 2024 in Lisbon that sales rose 5% to ' +
      '$90.8 billion. Dr. Jane Smith of the University of Oxford bought an iPhone 15.'
    expect(found(text)).to.deep.equal([
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

  it('knows a person again by the surname alone', () => {
    expect(found('Maria Kowalczyk sings. Everyone praised Kowalczyk.')).to.deep.equal([
      'person: Maria Kowalczyk',
      'person: Kowalczyk',
    ])
  })

  it('takes no capital letter at the start of a sentence for a name', () => {
    expect(found('The weather is fine. However, nothing happened. We went home.')).to.deep.equal([])
  })

  it('gives only the asked types, whatever the number and case of their names', () => {
    const { entities, counts } = extract({
      text: 'Angela Merkel met 300 people in Berlin.',
      entity_types: ['PEOPLE', 'Locations'],
    }).result
    expect(entities.map(({ text }) => text)).to.deep.equal(['Angela Merkel', 'Berlin'])
    expect(counts).to.deep.equal({ person: 1, location: 1 })
  })

  it('refuses an unknown type, and lists the known ones', () => {
    expect(() => extract({ text: 'x', entity_types: ['colour'] }))
      .to.throw()
      .that.includes({ code: 'unsupported_entity_type', status: 422 })
      .and.has.nested.property('extras.allowed')
  })

  it('says so when the language is not English, and still gives dates and amounts', () => {
    const { language, warnings, result } = extract({
      text:
        'Der Vorstand von Siemens hat am 2024-05-12 in München rund 5,5 Milliarden Euro ' +
        'und 20 % gemeldet.',
    })
    expect(language).to.include({ code: 'de', supported: false })
    expect(warnings.map(({ code }) => code)).to.deep.equal(['language_unsupported'])
    expect(result.entities.map(({ text }) => text)).to.include.members(['2024-05-12', '20 %'])
    expect(new Set(result.entities.map(({ type }) => type))).to.not.include('organization')
  })

  it('warns of lone surrogates, and moves no offset', () => {
    const { warnings, result } = extract({ text: '\ud800 Berlin', offset_unit: 'utf16' })
    expect(warnings.map(({ code }) => code)).to.include('lone_surrogates_replaced')
    expect(result.entities[0]).to.include({ text: 'Berlin', start: 2, end: 8 })
  })

  it('answers texts of one token, all capitals, no capitals and markup', () => {
    const hostile = ['a', 'A', '<b>', 'X.', "'s", '((((', 'Aa ', 'John ', 'of '].map((piece) =>
      piece.repeat(51_200 / piece.length),
    )
    for (const text of [...hostile, '<p>Hello <b>World</b></p>', '\0\ufeff\r\n.']) {
      expect(extract({ text }).result.entities).to.be.an('array')
    }
  })

  it('refuses a blank text', () => {
    expect(() => extract({ text: ' \r\n\t\u00a0' }))
      .to.throw()
      .that.includes({ code: 'empty_text' })
  })
})
