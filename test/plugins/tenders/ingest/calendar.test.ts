import { expect } from 'chai'
import {
  daysFrom,
  doubtfulDays,
  gapsOf,
  type PublicationDay,
} from '../../../../plugins/tenders/ingest/calendar.ts'
import { isMissing } from '../../../../plugins/tenders/ingest/missing.ts'

const days = (first: string, issues: readonly (string | null)[]): PublicationDay[] =>
  daysFrom(first, '2030-01-01')
    .slice(0, issues.length)
    .map((day, at) => {
      const ojs = issues[at] ?? null
      return { day, ojs, state: ojs === null ? 'silent' : 'closed' }
    })

// 2026-03-02 is a Monday.
describe('the journal calendar', () => {
  it('has no gap over a weekend or holiday, because the numbers continue', () => {
    const week = days('2026-03-02', ['41/2026', null, '42/2026', '43/2026', '44/2026', null, null])
    expect(gapsOf(week)).deep.equal([])
    expect([...doubtfulDays(week)]).deep.equal([])
  })

  it('has a gap if a number is missing, and its days without issues are uncertain', () => {
    const week = days('2026-03-02', ['41/2026', null, '43/2026'])
    expect(gapsOf(week)).deep.equal([{ after: '2026-03-02', before: '2026-03-04', issues: 1 }])
    expect([...doubtfulDays(week)]).deep.equal(['2026-03-03'])
  })

  it('treats a working day without later issues as uncertain, but no weekend', () => {
    const week = days('2026-03-05', ['44/2026', null, null, null, null])
    expect([...doubtfulDays(week)]).deep.equal(['2026-03-06', '2026-03-09'])
  })

  it('restarts at 1 each year and reports what is missing afterwards', () => {
    expect(gapsOf(days('2026-12-31', ['251/2026', null, null, null, '1/2027']))).deep.equal([])
    const late = gapsOf(days('2026-12-31', ['251/2026', null, null, null, '2/2027']))
    expect(late.map(({ issues }) => issues)).deep.equal([1])
  })

  it('does not count missing issues if the numbers decrease', () => {
    const gaps = gapsOf(days('2026-03-02', ['41/2026', '40/2026']))
    expect(gaps.map(({ issues }) => issues)).deep.equal([null])
  })

  it('counts days across the end of February and of the year', () => {
    expect(daysFrom('2028-02-28', '2028-03-01')).deep.equal([
      '2028-02-28',
      '2028-02-29',
      '2028-03-01',
    ])
    expect(daysFrom('2026-12-31', '2027-01-01')).lengthOf(2)
    expect(daysFrom('2026-03-02', '2026-03-01')).deep.equal([])
  })
})

describe('a missing day', () => {
  const noon = (day: string) => new Date(`${day}T12:30:00Z`)
  const tried = (found: readonly PublicationDay[]) =>
    found.map((each) => ({ ...each, triedAt: noon(each.day), settledAt: noon(each.day) }))
  const week = tried(days('2026-03-02', ['41/2026', '42/2026', null, null, null, null, null]))

  it('excludes today, weekends, and days without an issue at noon', () => {
    expect(isMissing(week.slice(0, 2), '2026-03-03', '2026-03-04')).equal(false)
    expect(isMissing(week, '2026-03-03', '2026-03-09')).equal(false)
  })

  it('includes days never queried, or queried only in the morning', () => {
    expect(isMissing(week.slice(0, 2), '2026-03-03', '2026-03-05')).equal(true)
    const early = { ...week[2]!, triedAt: new Date('2026-03-04T06:00:00Z') }
    expect(isMissing([...week.slice(0, 2), early], '2026-03-03', '2026-03-05')).equal(true)
  })

  it('includes days started but incomplete, or implied by the numbers', () => {
    const begun = { ...week[0]!, state: 'fetching' as const, settledAt: null }
    expect(isMissing([begun, week[1]!], '2026-03-03', '2026-03-04')).equal(true)
    const gap = tried(days('2026-03-02', ['41/2026', null, '43/2026']))
    expect(isMissing(gap, '2026-03-04', '2026-03-05')).equal(true)
  })

  it('excludes a complete day that is listed once more', () => {
    const again = { ...week[1]!, state: 'listing' as const }
    expect(isMissing([week[0]!, again], '2026-03-03', '2026-03-04')).equal(false)
  })
})
