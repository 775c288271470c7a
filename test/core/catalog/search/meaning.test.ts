import { expect } from 'chai'
import type { Candidate } from '../../../../core/catalog/search/check-draft.ts'
import { createMatcher } from '../../../../core/catalog/search/match.ts'
import { wordVectors } from '../../../../core/catalog/search/meaning/word-vectors.ts'
import { correctSpelling } from '../../../../core/catalog/search/spelling.ts'
import { type FreshDatabase, freshDatabase } from '../../../support/postgres.ts'

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
