import { expect } from 'chai'
import * as fc from 'fast-check'
import { IngestFailure } from '../../../../plugins/tenders/ingest/failure.ts'
import {
  advance,
  dayQuery,
  type Listing,
  type Page,
  readPage,
  START,
} from '../../../../plugins/tenders/ingest/search.ts'
import { documentAt, hasData } from '../support.ts'

const hit = (n: number) => ({ number: `${n}-2026`, ojs: '41/2026', version: '01' })
const page = (numbers: readonly number[], total: number, token: string | null): Page => ({
  hits: numbers.map(hit),
  unreadable: 0,
  total,
  token,
})
const listingOf = (...pages: readonly Page[]): Listing =>
  pages.reduce((listing, one) => advance(listing, one, 1_000), START)
const reasonOf = (work: () => unknown): string => {
  try {
    work()
    return 'nothing'
  } catch (error) {
    if (error instanceof IngestFailure) return error.reason
    throw error
  }
}

describe('the listing of a day', () => {
  it('is complete for every page size, with or without a last token', () => {
    const cuts = fc.tuple(fc.array(fc.integer({ min: 1, max: 9 }), { maxLength: 12 }), fc.boolean())
    fc.assert(
      fc.property(cuts, ([sizes, outlives]) => {
        const total = sizes.reduce((sum, size) => sum + size, 0)
        let first = 1
        const pages = sizes.map((size, at) => {
          const numbers = Array.from({ length: size }, (_, n) => first + n)
          first += size
          return page(numbers, total, at < sizes.length - 1 || outlives ? `t${at}` : null)
        })
        const all = listingOf(...pages, ...(outlives ? [page([], total, null)] : []))
        if (pages.length === 0 && !outlives) return
        expect(all.complete).equal(true)
        expect(all.numbers).deep.equal(Array.from({ length: total }, (_, n) => `${n + 1}-2026`))
      }),
    )
  })

  it('is incomplete until the page after the last notice is empty', () => {
    const all = listingOf(page([1, 2], 3, 'a'), page([3], 3, 'b'))
    expect(all.complete).equal(false)
    expect(advance(all, page([], 3, 'c'), 1_000)).deep.include({ complete: true, ojs: '41/2026' })
  })

  const contradictions: readonly (readonly [string, readonly Page[]])[] = [
    ['a total that changes', [page([1], 3, 'a'), page([2], 4, 'b')]],
    ['a notice that comes twice', [page([1, 2], 4, 'a'), page([2, 3], 4, 'b')]],
    ['a token that comes twice', [page([1], 3, 'a'), page([2], 3, 'a')]],
    ['more notices than announced', [page([1, 2], 2, 'a'), page([3], 2, 'b')]],
    ['no token before the end', [page([1], 3, null)]],
    ['an empty page before the end', [page([1], 3, 'a'), page([], 3, 'b')]],
    ['a day of more notices than there can be', [page([1], 1_001, 'a')]],
  ]
  for (const [what, pages] of contradictions) {
    it(`restarts after ${what}`, () => {
      expect(reasonOf(() => listingOf(...pages))).equal('contradiction')
    })
  }
})

describe('a search response', () => {
  const answer = { notices: [], totalNoticeCount: 0, iterationNextToken: null, timedOut: false }
  const cases: readonly (readonly [string, number, unknown, string])[] = [
    ['HTML with status 200', 200, '<!doctype html><html>', 'bad_page'],
    ['a list', 200, [], 'bad_page'],
    [
      'no total, as when the syntax was checked only',
      200,
      { ...answer, totalNoticeCount: null },
      'bad_page',
    ],
    ['a total that is no number', 200, { ...answer, totalNoticeCount: '3' }, 'bad_page'],
    ['a search that timed out', 200, { ...answer, timedOut: true }, 'contradiction'],
    ['a query that is refused', 400, { message: 'Validation error', error: [] }, 'refused_query'],
  ]
  for (const [what, status, body, reason] of cases) {
    it(`is rejected as a page of notices: ${what}`, () => {
      const text = typeof body === 'string' ? body : JSON.stringify(body)
      expect(reasonOf(() => readPage(status, text))).equal(reason)
    })
  }

  it('keeps its good hits and counts those without number', () => {
    const notices = [{ 'publication-number': '1-2026' }, {}, null, { 'publication-number': 7 }]
    const read = readPage(200, JSON.stringify({ ...answer, notices, totalNoticeCount: 4 }))
    expect(read).deep.include({ unreadable: 3, total: 4 })
    const listing = advance(START, read, 1_000)
    expect(listing).deep.include({ complete: true, numbers: ['1-2026'], unreadable: 3 })
  })

  it('is accepted if recorded from the real service', function () {
    if (!hasData) this.skip()
    const { pages } = JSON.parse(documentAt('search-api/energy-2026-09-09.json').toString()) as {
      pages: unknown[]
    }
    const read = readPage(200, JSON.stringify(pages[0]))
    expect(read.hits.map(({ number }) => number))
      .include('621800-2026')
      .lengthOf(13)
    expect(advance(START, read, 1_000).complete).equal(true)
  })

  it('is requested by one day, in the journal’s format, and by every energy code', () => {
    const query = dayQuery('2026-03-02')
    expect(query).include('publication-date=20260302').include('classification-cpv=09*')
    expect(query).match(/SORT BY publication-date$/)
  })
})
