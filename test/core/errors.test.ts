import { STATUS_CODES } from 'node:http'
import { expect } from 'chai'
import { FAULTS, Fault, type FaultCode } from '../../core/errors.ts'
import type { FaultRow } from '../../core/fault-row.ts'

const CODES = Object.keys(FAULTS) as FaultCode[]

describe('the table of faults', () => {
  for (const code of CODES) {
    const [status, title, advice, seconds = 1]: FaultRow = FAULTS[code]
    it(`${code} has a stable name, a status, a title and advice`, () => {
      expect(code).to.match(/^[a-z\d]+(_[a-z\d]+)*$/)
      expect(STATUS_CODES).to.have.property(String(status))
      expect(status === 202 || (status >= 400 && status < 600)).to.equal(true)
      expect(title).to.match(/^[A-Z][^.]+$/)
      expect(advice).to.match(/^[A-Z].+\.$/)
      expect(seconds).to.be.within(1, 3_600)
    })
  }

  it('never advises to repeat an invalid request', () => {
    const repeatable = CODES.filter((code) => FAULTS[code][0] < 429 && FAULTS[code].length > 3)
    expect(repeatable, 'valid, but too early').to.deep.equal([
      'payment_in_progress',
      'idempotency_in_progress',
      'export_not_ready',
      'response_lost',
    ])
  })

  it('uses 400 for syntax, 413 for size and 422 for values', () => {
    expect(new Fault('malformed_json').status).to.equal(400)
    expect(new Fault('body_too_large').status).to.equal(413)
    expect(new Fault('text_too_large').status).to.equal(413)
    expect(new Fault('validation_failed').status).to.equal(422)
  })
})

describe('a fault', () => {
  it('has the advice of its code as message unless a detail is given', () => {
    expect(new Fault('not_found').message).to.equal(FAULTS.not_found[2])
    expect(new Fault('not_found', 'There is no such call.').message).to.equal(
      'There is no such call.',
    )
  })

  it('keeps its cause for the log', () => {
    const cause = new Error('what really happened')
    expect(new Fault('internal_error', undefined, { cause }).cause).to.equal(cause)
  })
})
