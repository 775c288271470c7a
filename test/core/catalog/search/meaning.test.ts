import { expect } from 'chai'
import type { Candidate } from '../../../../core/catalog/search/check-draft.ts'
import { createMatcher } from '../../../../core/catalog/search/match.ts'
import { wordVectors } from '../../../../core/catalog/search/meaning/word-vectors.ts'
import { readQuery } from '../../../../core/catalog/search/query.ts'
import { correctSpelling } from '../../../../core/catalog/search/spelling.ts'
import { type FreshDatabase, freshDatabase } from '../../../support/postgres.ts'

const wordsOf = (text: string): string =>
  readQuery(text)
    .spans.flatMap(({ words }) => words)
    .join(' ')

describe('queries in other languages', () => {
  for (const [text, words] of [
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
  ] as const) {
    it(`reads "${text}" as "${words}"`, () => {
      expect(wordsOf(text)).to.equal(words)
    })
  }

  for (const text of ['die casting machines', 'car rental', 'son of a gun', 'stock price alert']) {
    it(`keeps the English words of "${text}"`, () => {
      expect(wordsOf(text)).to.equal(text)
    })
  }

  it('names the searched word in the explanation', () => {
    expect(readQuery('contraseña segura').spans[0]!.asked).to.equal('contrasena')
  })
})

describe('word vectors of search', () => {
  let database: FreshDatabase
  before(async () => {
    database = await freshDatabase()
  })
  after(() => database.drop())

  it('have the stems of the index', async () => {
    const words = ['translation', 'weather', 'invoices', 'currencies', 'verified', 'images']
    const { rows } = await database.admin.query<{ stem: string }>(
      `SELECT (tsvector_to_array(to_tsvector('english', w)))[1] AS stem FROM unnest($1::text[]) w`,
      [words],
    )
    for (const [i, { stem }] of rows.entries()) {
      expect(wordVectors().rankOf(stem), stem).to.be.a('number')
      expect(wordVectors().rankOf(stem), stem).to.equal(wordVectors().rankOf(words[i]!))
    }
  })

  it('are closer for words of similar meaning', () => {
    expect(wordVectors().similarity('automobile', 'vehicle')).to.be.above(
      wordVectors().similarity('automobile', 'poem'),
    )
  })
})

describe('words that a document does not contain', () => {
  const part = (term: string) => ({
    weight: 1,
    words: [[{ terms: [term], weight: 1, reading: { asked: term, as: term } }]],
    alternatives: [],
  })
  const scoreOf = (named: string, words: readonly string[]): number => {
    const match = createMatcher({
      parts: words.map(part),
      idf: new Map(words.map((word) => [word, 3])),
      absentIdf: 5,
      versions: new Map(),
    })
    const candidate = {
      names: [named],
      vector: `'${named}':1A 'rental':2C`,
      words: 2,
      nameWords: 1,
      places: new Map([['rental', { positions: [2], fields: 'C' }]]),
    }
    return match(candidate as unknown as Candidate).score
  }

  it('count if its name has a similar one', () => {
    expect(scoreOf('car', ['rental', 'automobile'])).to.be.above(
      scoreOf('poem', ['rental', 'automobile']),
    )
  })

  it('count for nothing if it contains no word of the query', () => {
    expect(scoreOf('car', ['automobile'])).to.equal(0)
  })
})

describe('correction of spelling', () => {
  const correct = (word: string, near: string[], fit = (): number | undefined => undefined) =>
    correctSpelling({
      word,
      term: word,
      near: near.map((term) => ({ term, documents: 5 })),
      fit,
    }).map(({ term }) => term)

  for (const [word, other] of [
    ['sanctions', 'sections'],
    ['plane', 'planet'],
    ['vinyl', 'vinly'],
  ] as const) {
    it(`does not read ${word} as ${other}, because it is a word of English`, () => {
      expect(correct(word, [other])).to.deep.equal([])
    })
  }

  it('reads a misspelled word as the nearest one', () => {
    expect(correct('forcast', ['forecast'])).to.deep.equal(['forecast'])
  })

  it('prefers the word that fits the other words of the query', () => {
    const near = [
      { term: 'crate', documents: 50 },
      { term: 'rate', documents: 5 },
    ]
    const fit = (term: string): number => (term === 'rate' ? 0.6 : 0)
    const [first] = correctSpelling({ word: 'xrate', term: 'xrate', near, fit })
    expect(first!.term).to.equal('rate')
  })
})
