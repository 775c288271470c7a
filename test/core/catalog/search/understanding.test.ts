import { expect } from 'chai'
import { readQuery } from '../../../../core/catalog/search/query.ts'

const wordsOf = (text: string): string =>
  readQuery(text)
    .spans.flatMap(({ words }) => words)
    .join(' ')

const alternativesOf = (text: string): string[] =>
  readQuery(text).spans.flatMap(({ alternatives }) =>
    alternatives.map((one) => one.words.join(' ')),
  )

describe('understanding of queries', () => {
  for (const [text, words] of [
    ['I need an API that can rotate images', 'rotate images'],
    ["I'm looking for a service for parsing receipts", 'parsing receipts'],
    ['Please find me tide tables', 'tide tables'],
    ['an endpoint which lists moons', 'lists moons'],
    ['is there a tool to crop pictures under $0.02', 'crop pictures'],
  ] as const) {
    it(`searches "${text}" without its request phrase`, () => {
      expect(wordsOf(text)).to.equal(words)
    })
  }

  for (const text of [
    'api key rotation',
    'service status',
    'find me',
    'tool rental',
    'help desk',
    'die casting machines',
    'car rental',
    'son of a gun',
    'stock price alert',
  ]) {
    it(`keeps all words of "${text}"`, () => {
      expect(wordsOf(text)).to.equal(text)
    })
  }

  for (const [text, words] of [
    ['make a speech shorter', 'make shorter a speech'],
    ['turn minutes of a call into tasks', 'turn into minutes of a call tasks'],
    ['look this tree up', 'look up this tree'],
    ['make tea for a party of seven people louder', 'make tea for a party of seven people louder'],
    ['traducir un documento al inglés', 'translate document english'],
    ['Wechselkursabfrage', 'exchange rate search'],
    ['qualité de l’air à Lyon', 'air quality lyon'],
    ['прогноз погоды на завтра', 'forecast weather tomorrow'],
    ['图片压缩', 'image compress'],
    ['翻訳ツール', 'translate'],
    ['날씨 예보', 'weather forecast'],
    ['generare immagini', 'generate image'],
    ['hava durumu tahmini', 'weather forecast'],
    ['ترجمة النص إلى الفرنسية', 'translate text french'],
    ['पाठ का अनुवाद करें', 'text translate'],
    ['查询SSL证书', 'search ssl certificate'],
    ['cotizaciones de tarjetas de crédito', 'price credit card'],
    ['verificare numeri di telefono', 'check phone number'],
    ['oversætte en faktura', 'translate invoice'],
    ['satunnainen salasana', 'random password'],
    ['noticias de barcos', 'news ship'],
    ['Wetter in Portugiesisch', 'weather in portuguese'],
    ['погода в Норвегии', 'weather norway'],
    ['price per boat', 'price per boat'],
    ['la casa de papel', 'la casa de papel'],
  ] as const) {
    it(`reads "${text}" as "${words}"`, () => {
      expect(wordsOf(text)).to.equal(words)
    })
  }

  it('names the searched word in the explanation', () => {
    expect(readQuery('contraseña segura').spans[0]!.asked).to.equal('contrasena')
  })

  it('reads a phrase with small words inside as the same phrase', () => {
    expect(alternativesOf('turn speech into a text')).to.include('stt')
    expect(alternativesOf('search for names of the people')).to.include('named entity')
  })

  it('accepts no single word as the translation of two', () => {
    const [span] = readQuery('texte voix français').spans
    const single = span!.alternatives.filter(({ words }) => words.join() === 'texte')
    expect(single).to.deep.equal([])
  })

  it('reads swapped letters as the word, only if no document contains what was typed', () => {
    const [span] = readQuery('wetaher').spans
    const swapped = span!.alternatives.find(({ words }) => words.join(' ') === 'weather')
    expect(swapped?.ifAbsent).to.equal(true)
  })

  it('splits a conversion that is written as one word into its formats', () => {
    expect(alternativesOf('docxtomarkdown')).to.include('docx markdown')
  })

  it('joins words that may be written as one, but no two function words', () => {
    expect(alternativesOf('wi fi')).to.include('wifi')
    expect(alternativesOf('what year it is')).not.to.include('itis')
  })

  it('splits no character in two', () => {
    const readings = readQuery('𐐨𐐩𐐪𐐫').spans[0]!.alternatives
    expect(readings.every(({ words }) => words.every((word) => word.isWellFormed()))).to.equal(true)
  })

  it('swaps no letters of words with four or fewer', () => {
    expect(alternativesOf('form')).not.to.include('from')
  })
})
