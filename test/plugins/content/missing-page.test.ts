import { expect } from 'chai'
import { isMissingPageNotice } from '../../../plugins/content/missing-page.ts'

const notice = (title: string, words = 20, heading = 'Harbor news') =>
  isMissingPageNotice({
    title,
    headings: [{ level: 1, text: heading, id: 'h' }],
    word_count: words,
  })

describe('a notice that a page is missing', () => {
  const notices = [
    '404',
    'Error 404',
    '404 Not Found',
    '404: This page could not be found.',
    '404 Page – Harbor news',
    'Page not found – Harbor news',
    'Oops! That page can’t be found.',
    "Sorry, this page doesn't exist",
    'The page you requested no longer exists',
    'Not Found',
    'Seite nicht gefunden',
    'Страница не найдена | Гавань',
    '페이지를 찾을 수 없습니다',
  ]
  for (const line of notices) {
    it(`is recognized in the title or a first heading of a short page: ${line}`, () => {
      expect([notice(line), notice('Harbor news', 20, line)]).to.deep.equal([true, true])
    })
  }

  const others = [
    '404 Park Avenue, third floor',
    'Peugeot 404: the page of its owners',
    'Treasure not found after a century',
    'A page of history',
    'The cup that was found',
  ]
  for (const line of others) {
    it(`is not seen in a short page with another title: ${line}`, () => {
      expect(notice(line)).to.equal(false)
    })
  }

  it('is not seen in a page about missing pages', () => {
    expect(notice('404 Not Found', 400)).to.equal(false)
  })
})
