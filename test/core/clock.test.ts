import { expect } from 'chai'
import { elapsedMs, monthName, monthStart, sleep, systemClock } from '../../core/clock.ts'

const at = (text: string): Date => new Date(text)

describe('the clock', () => {
  it('returns the system time', () => {
    expect(systemClock.now().getTime()).to.be.closeTo(Date.now(), 1_000)
  })

  it('starts months in UTC in every time zone, so that free calls and statements agree', () => {
    expect(monthStart(at('2026-11-30T23:59:59.999Z'))).to.deep.equal(at('2026-11-01T00:00:00Z'))
    expect(monthStart(at('2026-12-01T00:00:00+01:00'))).to.deep.equal(at('2026-11-01T00:00:00Z'))
  })

  it('counts months across the end of a year and from the 31st', () => {
    expect(monthStart(at('2026-12-31T12:00:00Z'), 1)).to.deep.equal(at('2027-01-01T00:00:00Z'))
    expect(monthStart(at('2026-01-31T12:00:00Z'), -1)).to.deep.equal(at('2025-12-01T00:00:00Z'))
    expect(monthStart(at('2027-01-31T12:00:00Z'), 1)).to.deep.equal(at('2027-02-01T00:00:00Z'))
  })

  it('names months in UTC', () => {
    expect(monthName(at('2026-11-30T23:59:59Z'))).to.equal('2026-11')
    expect(monthName(at('2027-01-01T00:00:00+02:00'))).to.equal('2026-12')
  })

  it('measures durations that never run backwards', async () => {
    const start = elapsedMs()
    await sleep(20)
    expect(elapsedMs() - start).to.be.at.least(15)
  })
})
