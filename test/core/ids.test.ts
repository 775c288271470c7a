import { expect } from 'chai'
import * as fc from 'fast-check'
import { base62, derivedUuid, prefixedId, uuidv7 } from '../../core/ids.ts'

const VERSION_7 = /^[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/
const INSTANT = Date.UTC(2026, 10, 21)
/** As many as one process makes in a millisecond, many times over. */
const MANY = 3_000

const msOf = (id: string): number => Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16)
const instants = fc.integer({ min: 0, max: 2 ** 48 - 1 })

describe('ids', () => {
  it('are UUIDs of version 7 that begin with their instant', () => {
    fc.assert(
      fc.property(instants, (ms) => {
        const id = uuidv7(ms)
        expect(id).to.match(VERSION_7)
        expect(msOf(id)).to.equal(ms)
      }),
    )
  })

  it('ascend within a millisecond', () => {
    const ids = Array.from({ length: MANY }, () => uuidv7(INSTANT))
    expect(ids).to.deep.equal(ids.toSorted())
  })

  it('ascend from one millisecond to the next', () => {
    const ids = Array.from({ length: MANY }, (_, i) => uuidv7(INSTANT + i))
    expect(ids).to.deep.equal(ids.toSorted())
  })

  it('are unique even if the clock stands still or goes back', () => {
    const ids = Array.from({ length: 50_000 }, (_, i) => uuidv7(INSTANT - (i % 7)))
    expect(new Set(ids)).to.have.property('size', ids.length)
  })

  it('derived from the same fact are equal', () => {
    const at = new Date(INSTANT)
    expect(derivedUuid(at, 'tx 1')).to.equal(derivedUuid(new Date(INSTANT), 'tx 1'))
    expect(derivedUuid(at, 'tx 1')).to.equal('01a1fb67-1800-7099-8ca7-8846b48567f7')
  })

  it('derived from different facts differ, and are of version 7', () => {
    fc.assert(
      fc.property(instants, fc.string(), fc.string(), (ms, a, b) => {
        const id = derivedUuid(new Date(ms), a)
        expect(id).to.match(VERSION_7)
        expect(msOf(id)).to.equal(ms)
        expect(id === derivedUuid(new Date(ms), b)).to.equal(a === b)
      }),
    )
  })

  it('in base 62 preserve values and their order', () => {
    const values = fc.bigInt({ min: 0n, max: 62n ** 11n - 1n })
    fc.assert(
      fc.property(values, values, (a, b) => {
        const [x, y] = [base62(a, 11), base62(b, 11)]
        expect(x).to.match(/^[0-9A-Za-z]{11}$/)
        expect(x === y).to.equal(a === b)
        expect(x < y).to.equal(a < b)
      }),
    )
    expect(base62(61n, 2)).to.equal('0z')
    expect(base62(62n, 2)).to.equal('10')
  })

  it('have the given prefix', () => {
    const ids = Array.from({ length: 1_000 }, () => prefixedId('key'))
    for (const id of ids) expect(id).to.match(/^key_[0-9A-Za-z]{16}$/)
    expect(new Set(ids)).to.have.property('size', ids.length)
  })
})
