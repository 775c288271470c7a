import { expect } from 'chai'
import * as fc from 'fast-check'
import { decimal, json, micros, split, unitCount, usd } from '../../core/money.ts'

const amounts = fc.bigInt({ min: 0n, max: 10n ** 18n - 1n })
const signed = fc.bigInt({ min: -(10n ** 18n), max: 10n ** 18n })

describe('money', () => {
  it('parses dollars exactly', () => {
    expect(usd('0.0030')).to.equal(3_000n)
    expect(usd('0.000001')).to.equal(1n)
    expect(usd('7')).to.equal(7_000_000n)
    expect(usd('999999999999.999999')).to.equal(999_999_999_999_999_999n)
  })

  for (const text of [
    '0.0000001',
    '-1',
    '+1',
    '1.',
    '.5',
    '1e3',
    '1,5',
    ' 1',
    '1 ',
    '',
    'NaN',
    '٣',
  ]) {
    it(`refuses ${JSON.stringify(text)} instead of guessing an amount`, () => {
      expect(() => usd(text)).to.throw(TypeError, /at most 6 decimals/)
    })
  }

  it('survives formatting and parsing without change', () => {
    fc.assert(fc.property(amounts, (amount) => usd(decimal(amount)) === amount))
  })

  it('formats negative amounts with all decimals', () => {
    expect(decimal(-1n)).to.equal('-0.000001')
    expect(decimal(-1_500_000n)).to.equal('-1.500000')
    expect(decimal(0n)).to.equal('0.000000')
  })

  it('splits without losing or creating a microdollar at any commission', () => {
    fc.assert(
      fc.property(amounts, fc.integer({ min: 0, max: 10_000 }), (charged, bps) => {
        const { commission, share } = split(charged, bps)
        expect(commission + share).to.equal(charged)
        expect(commission >= 0n && share >= 0n).to.equal(true)
        expect(commission * 10_000n <= charged * BigInt(bps)).to.equal(true)
        expect((commission + 1n) * 10_000n > charged * BigInt(bps)).to.equal(true)
      }),
    )
  })

  it('gives the remainder of a division to the provider', () => {
    expect(split(3n, 1_000)).to.deep.equal({ commission: 0n, share: 3n })
    expect(split(19n, 1_000)).to.deep.equal({ commission: 1n, share: 18n })
  })

  it('never writes a JSON number that a reader would round', () => {
    fc.assert(
      fc.property(signed, (amount) => {
        const safe = amount >= -(2n ** 53n - 1n) && amount <= 2n ** 53n - 1n
        if (safe) expect(BigInt(json(amount))).to.equal(amount)
        else expect(() => json(amount)).to.throw(RangeError)
      }),
    )
  })

  for (const [count, unit, text] of [
    [1, 'words', '1 word'],
    [1n, 'search-queries', '1 search-query'],
    [1, 'boxes', '1 box'],
    [1, 'responses', '1 response'],
    [1, 'addresses', '1 address'],
    [1, 'analysis', '1 analysis'],
    [1, 'pages', '1 page'],
    [1, 'status', '1 status'],
    [1_000n, 'tokens', '1,000 tokens'],
    [0, 'words', '0 words'],
  ] as const) {
    it(`names the units of a metered price: ${text}`, () => {
      expect(unitCount(count, unit)).to.equal(text)
    })
  }

  it('refuses fractions of a microdollar', () => {
    expect(() => micros(0.5)).to.throw(RangeError)
  })
})
