import { expect } from 'chai'
import { findAmounts } from '../../../plugins/analysis/amounts.ts'
import {
  addDays,
  addMonths,
  isoDay,
  isoWeek,
  weekdayOf,
} from '../../../plugins/analysis/calendar.ts'
import { findDates } from '../../../plugins/analysis/dates.ts'
import { atMost, timed } from '../../support/timing.ts'

const AMOUNTS: readonly [string, string, object][] = [
  ['It cost $3.5 million.', '$3.5 million', { number: 3_500_000, currency: 'USD' }],
  ['US$ 1,200 more', 'US$ 1,200', { number: 1_200, currency: 'USD' }],
  ['about 1.234.567,89 EUR', '1.234.567,89 EUR', { number: 1_234_567.89, currency: 'EUR' }],
  ["CHF 4'500", "CHF 4'500", { number: 4_500, currency: 'CHF' }],
  ['£2bn', '£2bn', { number: 2_000_000_000, currency: 'GBP' }],
  ['$5-10 million', '$5-10 million', { number: 5e6, upper: 10e6, currency: 'USD' }],
  ['five dollars', 'five dollars', { number: 5, currency: 'USD' }],
  ['a rise of 12.5%', '12.5%', { number: 12.5, unit: 'percent' }],
  ['15 to 20 percent', '15 to 20 percent', { number: 15, upper: 20, unit: 'percent' }],
  ['25 basis points', '25 basis points', { number: 25, unit: 'basis point' }],
  ['300m deep', '300m', { number: 300, unit: 'm' }],
  ['100 MW', '100 MW', { number: 100, unit: 'MW' }],
  ['two hundred and five people', 'two hundred and five', { number: 205 }],
  ['half a million', 'half a million', { number: 500_000 }],
]

const DATES: readonly [string, string, object][] = [
  ['on 12 May 2024', '12 May 2024', { iso: '2024-05-12', granularity: 'day', relative: false }],
  ['Monday, March 4th, 2021', 'Monday, March 4th, 2021', { iso: '2021-03-04' }],
  ['October 25-26, 2016', 'October 25-26, 2016', { iso: '2016-10-25/2016-10-26' }],
  ['at 2016-08-30T10:00Z', '2016-08-30T10:00Z', { iso: '2016-08-30T10:00Z' }],
  ['25/12/2020', '25/12/2020', { iso: '2020-12-25' }],
  ['in Q1 2024', 'Q1 2024', { iso: '2024-Q1', granularity: 'quarter' }],
  ['the 1990s', 'the 1990s', { iso: '199X', granularity: 'decade' }],
  ['the 19th century', 'the 19th century', { iso: '18XX', granularity: 'century' }],
  ['since 1984,', '1984', { iso: '1984', granularity: 'year' }],
  ['for two weeks', 'two weeks', { iso: 'P2W', granularity: 'duration' }],
  ['yesterday', 'yesterday', { iso: '2026-02-11', relative: true }],
  ['last week', 'last week', { iso: '2026-W06', granularity: 'week', relative: true }],
  ['next quarter', 'next quarter', { iso: '2026-Q2', relative: true }],
  ['two months ago', 'two months ago', { iso: '2025-12', relative: true }],
  ['last Friday', 'last Friday', { iso: '2026-02-06', relative: true }],
  ['3 June', '3 June', { iso: '2026-06-03', relative: true }],
]

const PLAIN = 'The meeting of 3 May 2024 cost about $20 for two people. '
const HOSTILE = ['1,', 'one ', '1,1,1 ', '$1', '9', '1-', '1 to ', 'May ', '2020 ', 'one two days ']

describe('analysis: dates and amounts', () => {
  for (const [text, surface, value] of AMOUNTS) {
    it(`reads the amount in '${text}'`, () => {
      const [amount, ...others] = findAmounts(text)
      expect(others).to.deep.equal([])
      expect(text.slice(amount?.start, amount?.end)).to.equal(surface)
      expect(amount?.value).to.deep.equal(value)
    })
  }

  for (const [text, surface, value] of DATES) {
    it(`reads the date in '${text}'`, () => {
      const [date, ...others] = findDates(text, { year: 2026, month: 2, day: 12 })
      expect(others).to.deep.equal([])
      expect(text.slice(date?.start, date?.end)).to.equal(surface)
      expect(date?.value).to.include(value)
    })
  }

  it('resolves no invalid day, no ambiguous day, and no relative day without a reference', () => {
    expect(findDates('2016-02-31').map(({ rule }) => rule)).to.not.include('iso')
    expect(findDates('03/04/2020')[0]?.value).to.not.have.property('iso')
    expect(findDates('yesterday')[0]?.value).to.not.have.property('iso')
    expect(findDates('February 30, 2021')[0]?.value).to.not.have.property('iso')
  })

  it('does not read ordinals as amounts, nor money and counts as years', () => {
    expect(findAmounts('the 3rd place of 3D printing, room 12b')).to.deep.equal([])
    expect(findDates('$2000 for 2000 people')).to.deep.equal([])
  })

  for (const piece of HOSTILE) {
    it(`reads 50 KB of '${piece}' in bounded time`, async () => {
      const read = (text: string) =>
        timed(() => {
          const long = text.repeat(51_200 / text.length)
          return [findDates(long), findAmounts(long)]
        })
      const [, usual] = await read(PLAIN)
      const [, took] = await read(piece)
      expect(took).to.be.below(atMost(usual, 1_000))
    })
  }

  it('computes days as the calendar does', () => {
    for (let days = -40_000; days <= 40_000; days += 97) {
      const day = addDays({ year: 2000, month: 1, day: 1 }, days)
      const expected = new Date(Date.UTC(2000, 0, 1 + days))
      expect(isoDay(day)).to.equal(expected.toISOString().slice(0, 10))
      expect(weekdayOf(day) % 7).to.equal(expected.getUTCDay())
    }
    expect(isoWeek({ year: 2021, month: 1, day: 3 })).to.equal('2020-W53')
    expect(addMonths({ year: 2024, month: 1, day: 31 }, 1)).to.include({ month: 2, day: 29 })
  })
})
