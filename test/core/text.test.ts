import { expect } from 'chai'
import * as fc from 'fast-check'
import { cleanMarkup, cleanText, visibleJson, visibleText } from '../../core/text.ts'

describe('text of strangers', () => {
  const HIDDEN: Readonly<Record<string, string>> = {
    'zero-width space': '\u200b',
    'word joiner': '\u2060',
    'byte order mark': '\ufeff',
    'soft hyphen': '\u00ad',
    'right-to-left override': '\u202e',
    'isolate and its end': '\u2066\u2069',
    'tag characters': '\u{e0041}\u{e0042}\u{e007f}',
    'variation selectors that carry bytes': '\ufe01\ufe0e\u{e0101}\u{e01ef}',
    'emoji selector after a letter': '\ufe0f',
    'joiners outside of words that need them': '\u200c\u200d\u200d',
    'grapheme joiner': '\u034f',
    'blank letters': '\u115f\u3164\uffa0\u2800',
    noncharacters: '\ufffe\uffff\ufdd0',
    'private use': '\ue000\u{f0000}',
    'annotation anchors': '\ufff9\ufffb',
    'musical and shorthand controls': '\u{1d173}\u{1bca0}',
  }
  for (const [name, hidden] of Object.entries(HIDDEN)) {
    it(`loses what nobody sees: ${name}`, () => {
      expect(visibleText(`pay${hidden}load`)).to.equal('payload')
      expect(cleanText(`${hidden}Name${hidden}`, 100)).to.equal('Name')
    })
  }

  const READABLE: readonly string[] = [
    'می‌خواهم این را بخوانم', // Persian with ZWNJ
    'क्‍ष और श्रीमान्‌जी', // Hindi with ZWJ and ZWNJ
    'ശ്രീലങ്ക ന്‍റെ', // Malayalam with ZWJ
    'שָׁלוֹם עֲלֵיכֶם', // Hebrew with points
    'Việt Nam, Ελλάδα, Україна, 日本語, 한국어, ไทยนี้',
    '👩‍💻 👨‍👩‍👧‍👦 👩🏽‍🔬 🏳️‍🌈 ❤️ 1️⃣ ⌨️ 🇳🇴',
  ]
  for (const text of READABLE) {
    it(`stays as it was written: ${text}`, () => {
      expect(visibleText(text)).to.equal(text)
      expect(cleanText(text, 200)).to.equal(text.normalize('NFC'))
    })
  }

  it('keeps at most four marks on a letter, and keeps lines unless it is a name', () => {
    expect(visibleText(`Z${'\u0301'.repeat(40)}algo`)).to.equal(`Z${'\u0301'.repeat(4)}algo`)
    expect(visibleText('a\tb\nc\u0007d\u2028e')).to.equal('a\tb\nc d e')
    expect(cleanText(' a\tb\n\nc\u0007d ', 100)).to.equal('a b c d')
  })

  it('loses the tags of HTML if it may be Markdown, but no other angle brackets', () => {
    const html = '<p>Returns <b class="x">new</b>\nitems.</p><br/>See <a href="/d">docs</a>.'
    expect(cleanMarkup(html, 100)).to.equal('Returns new items. See docs.')
    expect(cleanMarkup(`${'<br>'.repeat(300)}Text`, 100)).to.equal('Text')
    const types = 'A List<String> of <id> where 1 < 2 and <base64>'
    expect(cleanMarkup(types, 100)).to.equal(types)
  })

  it('is cleaned in names and values of JSON, at any depth', () => {
    const dirty = { 'a\u200b': ['b\u202e', { c: 'd\u{e0041}' }], n: 1, none: null }
    expect(visibleJson(dirty)).to.deep.equal({ a: ['b', { c: 'd' }], n: 1, none: null })
  })

  it('is cleaned once: cleaning again changes nothing', () => {
    const unit = fc.constantFrom(...'aé क्षमی\u200c\u200d\u200b\u202e\ufe0f👩\u0301\n'.split(''))
    fc.assert(
      fc.property(fc.string({ unit, maxLength: 40 }), (text) => {
        const once = visibleText(text)
        expect(visibleText(once)).to.equal(once)
      }),
    )
  })
})
