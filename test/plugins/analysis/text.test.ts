import { expect } from 'chai'
import * as fc from 'fast-check'
import { detectLanguage } from '../../../plugins/analysis/language.ts'
import { OFFSET_UNITS, offsetsIn, sentencesOf, wellFormed } from '../../../plugins/analysis/text.ts'
import { tokenize } from '../../../plugins/analysis/tokens.ts'
import { anyText, sliceIn } from './support.ts'

describe('analysis: text', () => {
  it('returns tokens that are slices of the text, in order, within their sentence', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        let last = 0
        for (const { start, end, tokens } of sentencesOf(text)) {
          expect(start).to.be.at.least(last)
          for (const token of tokens) {
            expect(text.slice(token.start, token.end)).to.equal(token.text)
            expect(token.start).to.be.at.least(last)
            last = token.end
          }
          expect(last).to.be.at.most(end)
          last = end
        }
      }),
    )
  })

  it('tokenizes ASCII exactly as the general pattern does', () => {
    const word = "[A-Za-z][A-Za-z0-9]*(?:'(?!s(?![A-Za-z]))[A-Za-z]+)?"
    const pattern = new RegExp(`(?:[A-Z]\\.){2,12}|${word}|[0-9]+|[^\\sA-Za-z0-9]`, 'g')
    const some = fc.string({
      unit: fc.constantFrom(..."a A z Z 0 9 ' . , _ - \n \t s".split(' '), ' '),
      maxLength: 30,
    })
    fc.assert(
      fc.property(some, (text) => {
        const words = tokenize(text).map((token) => token.text)
        expect(words).to.deep.equal(text.match(pattern) ?? [])
        // A non-ASCII mark after a word makes the general pattern read it.
        const shapes = tokenize(text).map(({ shape }) => shape)
        const again = words.map((word) => tokenize(`${word}\u2014`)[0]?.shape)
        expect(shapes).to.deep.equal(again)
      }),
      { numRuns: 300 },
    )
  })

  it('slices the same words in every offset unit', () => {
    fc.assert(
      fc.property(anyText, fc.constantFrom(...OFFSET_UNITS), (raw, unit) => {
        const text = wellFormed(raw)
        const offset = offsetsIn(text, unit)
        for (const { start, end, text: word } of sentencesOf(text).flatMap((one) => one.tokens)) {
          expect(sliceIn(text, unit, offset(start), offset(end))).to.equal(word)
        }
      }),
    )
  })

  it('splits sentences at full stops, but not at abbreviations, initials and decimals', () => {
    const split = (text: string) =>
      sentencesOf(text).map(({ start, end }) => text.slice(start, end))
    expect(
      split('Mr. J. Smith paid $3.50. He left the U.S. in May. Why? "Because."'),
    ).to.deep.equal(['Mr. J. Smith paid $3.50.', 'He left the U.S. in May.', 'Why?', '"Because."'])
    expect(split('Title line\r\nSecond line goes\non here.\n\nThird')).to.deep.equal([
      'Title line',
      'Second line goes\non here.',
      'Third',
    ])
  })

  it('keeps the length of a text when it replaces lone surrogates', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        expect(wellFormed(text)).to.have.length(text.length)
        expect(wellFormed(text).isWellFormed()).to.equal(true)
      }),
    )
  })

  it('distinguishes English from other languages and reports uncertainty', () => {
    expect(detectLanguage('Where did the money I deposit go?')).to.include({ code: 'en' })
    expect(
      detectLanguage('Der Vorstand hat gestern in München die neuen Zahlen für das Jahr gezeigt.'),
    ).to.include({ code: 'de', supported: false })
    expect(detectLanguage('委员会昨天在北京公布了新的数据，并表示将继续改革。')).to.include({
      code: 'zh',
      supported: false,
    })
    expect(detectLanguage('12 + 13 = 25')).to.include({ code: 'und', supported: false })
  })
})
