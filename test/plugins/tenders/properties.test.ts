import { expect } from 'chai'
import * as fc from 'fast-check'
import { alignLots, differences, factsOf } from '../../../plugins/tenders/domain/facts.ts'
import type { Deadline, Notice } from '../../../plugins/tenders/model.ts'
import { deadlineOf } from '../../../plugins/tenders/parse/deadline.ts'
import { legalOffsets } from '../../../plugins/tenders/parse/zones.ts'
import { SAMPLES } from '../../../plugins/tenders/sample/notices.ts'
import { documentOf } from '../../../plugins/tenders/sample/write.ts'
import { readPublished } from './support.ts'

const BASE = readPublished(documentOf(SAMPLES[1]!))

const amount = fc
  .tuple(fc.bigInt({ min: 0n, max: 10n ** 12n }), fc.constantFrom('EUR', 'SEK'))
  .map(([units, currency]) => ({ amount: String(units), currency }))
const code = fc.integer({ min: 9_000_000, max: 9_999_999 }).map((n) => `0${n}`)
const local = fc.date({
  min: new Date('2023-01-01T00:00:00Z'),
  max: new Date('2027-12-31T00:00:00Z'),
  noInvalidDate: true,
})
const deadline = fc
  .tuple(local, fc.constantFrom('+01:00', '+02:00', 'Z'))
  .map(([date, zone]): Deadline => {
    const [day = '', time = ''] = date.toISOString().slice(0, 19).split('T')
    return deadlineOf('tenders', day + zone, time + zone, 'DEU')!
  })
const lot = fc.record({
  id: fc.constantFrom('LOT-0001', 'LOT-0002', 'LOT-0003'),
  estimated: fc.option(amount),
  main: code,
  additional: fc.uniqueArray(code, { maxLength: 3 }),
  deadline: fc.option(deadline),
  title: fc.string({ minLength: 1, maxLength: 8 }),
})
const notice = fc
  .tuple(fc.option(amount), fc.uniqueArray(lot, { maxLength: 3, selector: ({ id }) => id }))
  .map(
    ([estimated, lots]): Notice => ({
      ...BASE,
      estimated,
      lots: lots.map(({ main, additional, deadline, title, ...rest }) => ({
        ...BASE.lots[0]!,
        ...rest,
        title: [{ lang: 'eng', text: title }],
        cpv: { main, additional },
        deadlines: deadline ? [deadline] : [],
      })),
    }),
  )

describe('tenders: properties', () => {
  it('finds no difference between a notice and itself', () => {
    fc.assert(
      fc.property(notice, (a) => {
        expect(differences(factsOf(a), factsOf(structuredClone(a)))).to.deep.equal([])
        expect(alignLots(a, a)).to.deep.equal(a)
      }),
    )
  })

  it('applies differences to get the later notice, and reverses them', () => {
    fc.assert(
      fc.property(notice, notice, (a, b) => {
        const [before, after] = [factsOf(a), factsOf(b)]
        const next = new Map(before)
        for (const { lotId, field, after: value } of differences(before, after)) {
          const key = `${lotId ?? ''}|${field}`
          if (value === null) next.delete(key)
          else next.set(key, value)
        }
        expect([...next.keys()].sort()).to.deep.equal([...after.keys()].sort())
        expect(differences(next, after)).to.deep.equal([])
        expect(differences(after, before)).to.have.length(differences(before, after).length)
      }),
    )
  })

  it('ignores another spelling of the same moment', () => {
    const [a, b] = ['2024-03-20+01:00', '2024-03-20Z'].map((day, i) =>
      deadlineOf('tenders', day, i === 0 ? '12:00:00+01:00' : '11:00:00.0000000Z', 'DEU'),
    )
    const facts = (d: Deadline) =>
      factsOf({ ...BASE, lots: [{ ...BASE.lots[0]!, deadlines: [d] }] })
    expect(differences(facts(a!), facts(b!))).to.deep.equal([])
  })

  it('treats an offset as legal if the country’s clock shows that time at that moment', () => {
    const countries = fc.constantFrom('DEU', 'PRT', 'FIN', 'IRL', 'FRA', 'MDA')
    fc.assert(
      fc.property(countries, local, (country, date) => {
        const offsets = legalOffsets(country, date.getTime())
        expect(offsets).to.not.be.empty
        if (country !== 'DEU') return
        for (const offset of offsets) {
          const shown = new Intl.DateTimeFormat('sv-SE', {
            timeZone: 'Europe/Berlin',
            dateStyle: 'short',
            timeStyle: 'short',
          }).format(date.getTime() - offset * 60_000)
          const isGap = /-03-(2[5-9]|3[01])T02:/.test(date.toISOString())
          if (!isGap) expect(shown).to.equal(date.toISOString().slice(0, 16).replace('T', ' '))
        }
      }),
    )
  })

  it('handles hours that occur twice or never when clocks change', () => {
    const at = (text: string) => legalOffsets('DEU', Date.parse(text))
    expect(at('2023-10-29T01:59:00Z')).to.deep.equal([120])
    expect(at('2023-10-29T02:30:00Z')).to.have.members([120, 60])
    expect(at('2023-10-29T03:00:00Z')).to.deep.equal([60])
    expect(at('2024-03-31T02:30:00Z')).to.deep.equal([60])
    expect(at('2024-03-31T03:00:00Z')).to.deep.equal([120])
  })

  it('uses the legal one of two offsets; keeps a lone one and marks it as suspect', () => {
    const of = (date: string, time: string, country: string | null) =>
      deadlineOf('tenders', date, time, country)
    expect(of('2023-11-27+01:00', '09:00:00+02:00', 'SVK')).to.include({
      at: '2023-11-27T09:00+01:00',
      conflict: true,
      earliest: Date.parse('2023-11-27T07:00:00Z'),
    })
    expect(of('2023-11-27+05:00', '09:00:00+06:00', 'SVK')!.at).to.equal('2023-11-27T09:00+06:00')
    expect(of('2023-11-27+02:00', '09:00:00+02:00', 'SVK')).to.include({
      at: '2023-11-27T09:00+02:00',
      suspect: true,
      conflict: false,
    })
    expect(of('2023-10-29+02:00', '02:30:00+01:00', 'DEU')).to.include({ suspect: false })
  })

  it('infers an offset only for countries with a single zone', () => {
    const of = (country: string | null) => deadlineOf('tenders', '2024-07-01', '12:00', country)
    expect(of('DEU')).to.include({ at: '2024-07-01T12:00+02:00', inferred: true })
    for (const country of ['FRA', 'COG', null]) {
      expect(of(country)).to.include({ at: null, local: '2024-07-01T12:00', inferred: false })
    }
  })

  it('has no deadline without a date, and no moment without a time', () => {
    for (const date of ['2024-02-30', 'soon', '', '2024-13-01+01:00', undefined]) {
      expect(deadlineOf('tenders', date, '12:00:00Z', 'DEU')).to.equal(undefined)
    }
    expect(deadlineOf('tenders', '2024-02-29Z', '99:00:00', 'DEU')).to.include({
      at: null,
      local: '2024-02-29',
    })
    expect(deadlineOf('tenders', '2024-02-29Z', '24:00:00Z', 'DEU')!.at).to.equal(
      '2024-03-01T00:00Z',
    )
  })
})
