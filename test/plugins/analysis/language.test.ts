import { readFileSync } from 'node:fs'
import { Refusal } from 'agenthub/plugin'
import { expect } from 'chai'
import { detectLanguage, isForeign } from '../../../plugins/analysis/language.ts'
import { analyze, classify, extractEntities, sentiment } from './support.ts'

const SAMPLES = readFileSync(new URL('./languages.txt', import.meta.url), 'utf8')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'))
  .map((line) => line.split('\t') as [code: string, text: string])
const isServed = (code: string): boolean => code === 'en' || code === 'und'

describe('analysis: languages', () => {
  it('distinguishes English from more than 20 languages in short texts', () => {
    const long = SAMPLES.filter(([, text]) => text.length >= 20)
    const wrong = long.filter(([code, text]) => isForeign(detectLanguage(text)) === isServed(code))
    expect(new Set(long.map(([code]) => code)).size).to.be.above(30)
    expect(wrong.length / long.length, JSON.stringify(wrong)).to.be.at.most(0.02)
  })

  it('serves short English, slang, names, numbers, links and code', () => {
    const served = SAMPLES.filter(([code]) => isServed(code))
    const refused = served.filter(([, text]) => isForeign(detectLanguage(text)))
    expect(refused).to.deep.equal([])
  })

  it('serves English beside foreign names, and refuses the same names beside other words', () => {
    const read = (texts: string) => texts.split('|').map((text) => isForeign(detectLanguage(text)))
    const english =
      'João Pereira owes 12 USD.|Jürgen Müller owes 40 EUR to Zoë.|Call José García tomorrow.|' +
      'Şükrü Öztürk lives in İzmir.|Nguyễn Văn An sent 3 boxes.|Özil scored twice for Köln.'
    expect(read(english)).to.not.include(true)
    const others =
      'João Pereira pagou a fatura.|Jürgen Müller schuldet 40 EUR.|José García llegó tarde.|' +
      'François Lefèvre est parti.|Łukasz zapłacił rachunek.|Ingvar Åkesson kom i dag.'
    expect(read(others)).to.not.include(false)
  })

  it('refuses foreign words in capitals of titles, but no long list of names', () => {
    const read = (texts: string) => texts.split('|').map((text) => isForeign(detectLanguage(text)))
    const titles =
      'Welche Möglichkeiten|Açık Öğretim Ortaokulu Yönetmeliği|Los Mejores Hoteles Baratos|' +
      'Unsere Große Auswahl|Yeni Ürünlerimiz Mağazalarımızda'
    expect(read(titles)).to.not.include(false)
    const names =
      'Ana Souza, Piotr Kowalski, Emma Dubois|Robert Bosch, Siemens Healthineers, Deutsche Bahn|' +
      'Giuseppe Verdi e Clara Schumann|Osaka, Ljubljana, Düsseldorf, Reykjavík'
    expect(read(names)).to.not.include(true)
  })

  it('counts letters of Indian scripts without their vowel signs, and skips HTML entities', () => {
    const telugu = 'HMS హవోక్ (1893) టార్పెడో బోట్ డిస్ట్రాయర్'
    expect(isForeign(detectLanguage(telugu))).to.equal(true)
    expect(isForeign(detectLanguage('C&#8217;est m&#234;me meilleur que l&#8217;autre'))).to.equal(
      true,
    )
    expect(isForeign(detectLanguage('It&#8217;s even better &amp; cheaper'))).to.equal(false)
  })

  it('names the language', () => {
    const foreign = SAMPLES.filter(([code, { length }]) => !isServed(code) && length >= 20)
    // The detector has one model for Indonesian and Malay.
    const codeOf = (text: string) => detectLanguage(text).code.replace('ms', 'id')
    const wrong = foreign.filter(([code, text]) => codeOf(text) !== code)
    expect(wrong.length / foreign.length, JSON.stringify(wrong)).to.be.at.most(0.08)
  })

  it('serves texts with at least a third of English and refuses the others', () => {
    const english = 'The room was clean and the staff helped us with everything that we needed. '
    const german = 'Das Zimmer war sauber und das Personal hat uns bei allem sehr gut geholfen. '
    expect(isForeign(detectLanguage(english + german))).to.equal(false)
    expect(isForeign(detectLanguage(german.repeat(6) + english))).to.equal(true)
    expect(isForeign(detectLanguage(german.repeat(600)))).to.equal(true)
  })

  it('reads an escaped or marked-up text by its words', () => {
    expect(
      isForeign(detectLanguage('<p class="review">Das war ein sehr guter Kauf.</p>')),
    ).to.equal(true)
    expect(isForeign(detectLanguage('<p class="kritik">That was a very good buy.</p>'))).to.equal(
      false,
    )
  })

  it('refuses a foreign text at every endpoint, naming its language', () => {
    const text = 'La comida estaba fría pero el postre era excelente.'
    for (const call of [
      () => sentiment({ text }),
      () => extractEntities({ text }),
      () => classify({ text, categories: ['food', 'sports'] }),
      () => analyze({ text, instructions: 'Summarize.' }),
    ]) {
      expect(call)
        .to.throw(Refusal, /Spanish \(es\)/)
        .that.deep.includes({ code: 'language_not_supported', status: 422 })
    }
  })
})
