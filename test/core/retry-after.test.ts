import { expect } from 'chai'
import { retryAfterSeconds } from '../../core/retry-after.ts'

describe('Retry-After', () => {
  it('is seconds, or a date relative to the sender’s own clock, and at most a week', () => {
    const date = 'Sat, 21 Nov 2026 09:58:30 GMT'
    for (const [value, seconds] of [
      ['0', 0],
      ['120', 120],
      ['9'.repeat(400), 604_800],
      ['Sat, 21 Nov 2026 10:00:00 GMT', 90],
      ['Fri, 01 Jan 2100 00:00:00 GMT', 604_800],
    ] as const) {
      expect(retryAfterSeconds({ 'retry-after': value, date }), value).to.equal(seconds)
    }
  })

  it('is ignored if missing, invalid, past or without a date to compare it with', () => {
    const date = 'Sat, 21 Nov 2026 10:00:00 GMT'
    const past = 'Sat, 21 Nov 2026 09:00:00 GMT'
    for (const value of ['', 'soon', '-1', '1.5', past]) {
      expect(retryAfterSeconds({ 'retry-after': value, date }), value).to.equal(undefined)
    }
    expect(retryAfterSeconds({ date })).to.equal(undefined)
    expect(retryAfterSeconds({ 'retry-after': date })).to.equal(undefined)
  })
})
