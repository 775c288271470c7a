import { expect } from 'chai'
import {
  daysFrom,
  doubtful,
  type FoundDay,
  gapsOf,
} from '../../../../plugins/tenders/ingest/calendar.ts'

const days = (first: string, issues: readonly (string | null)[]): FoundDay[] =>
  daysFrom(first, '2030-01-01')
    .slice(0, issues.length)
    .map((day, at) => {
      const ojs = issues[at] ?? null
      return { day, ojs, state: ojs === null ? 'silent' : 'closed' }
    })

// 2026-03-02 is a Monday.
describe('the calendar of the journal', () => {
  it('has no gap over a weekend or a holiday, since the numbers go on', () => {
    const week = days('2026-03-02', ['41/2026', null, '42/2026', '43/2026', '44/2026', null, null])
    expect(gapsOf(week)).deep.equal([])
    expect([...doubtful(week)]).deep.equal([])
  })

  it('has a gap where a number is missing, and its silent days are in doubt', () => {
    const week = days('2026-03-02', ['41/2026', null, '43/2026'])
    expect(gapsOf(week)).deep.equal([{ after: '2026-03-02', before: '2026-03-04', issues: 1 }])
    expect([...doubtful(week)]).deep.equal(['2026-03-03'])
  })

  it('doubts a silent working day after which nothing is known, and no weekend', () => {
    const week = days('2026-03-05', ['44/2026', null, null, null, null])
    expect([...doubtful(week)]).deep.equal(['2026-03-06', '2026-03-09'])
  })

  it('goes on at 1 with the year, and tells what is missing after it', () => {
    expect(gapsOf(days('2026-12-31', ['251/2026', null, null, null, '1/2027']))).deep.equal([])
    const late = gapsOf(days('2026-12-31', ['251/2026', null, null, null, '2/2027']))
    expect(late.map(({ issues }) => issues)).deep.equal([1])
  })

  it('cannot say how many are missing where the numbers go back', () => {
    const gaps = gapsOf(days('2026-03-02', ['41/2026', '40/2026']))
    expect(gaps.map(({ issues }) => issues)).deep.equal([null])
  })

  it('counts days over the end of February and of the year', () => {
    expect(daysFrom('2028-02-28', '2028-03-01')).deep.equal([
      '2028-02-28',
      '2028-02-29',
      '2028-03-01',
    ])
    expect(daysFrom('2026-12-31', '2027-01-01')).lengthOf(2)
    expect(daysFrom('2026-03-02', '2026-03-01')).deep.equal([])
  })
})
