import { expect } from 'chai'
import { FAULTS, Fault, type FaultCode } from '../../../core/errors.ts'
import { problem, toFault } from '../../../server/http/problem.ts'

const CODES = Object.keys(FAULTS) as FaultCode[]
const bodyOf = (fault: Fault) =>
  problem(fault, 'req_12345678', '/v1/x').body as Record<string, unknown>

/** An error as libraries throw it: with a name, a code and private details. */
const thrown = (message: string, members: object): Error =>
  Object.assign(new Error(message), members)

describe('a problem body', () => {
  for (const code of CODES) {
    it(`of ${code} has every member that clients rely on`, () => {
      const { status, headers, body } = problem(new Fault(code), 'req_12345678', '/v1/x')
      expect(status).to.equal(FAULTS[code][0])
      expect(headers).to.deep.include({
        'Content-Type': 'application/problem+json',
        'Cache-Control': 'no-store',
        'X-Charged-Microdollars': '0',
      })
      expect(body).to.deep.equal({
        type: `/docs/problems/${code}`,
        title: FAULTS[code][1],
        status,
        detail: FAULTS[code][2],
        advice: FAULTS[code][2],
        instance: '/v1/x',
        code,
        request_id: 'req_12345678',
        retryable: FAULTS[code].length > 3,
        charged_microdollars: 0,
      })
    })
  }

  it('shows the further members of a fault, which replace none of the usual ones', () => {
    const extras = { limit: 5, status: 200, code: 'fine', request_id: 'x', type: 'x', detail: 'x' }
    const body = bodyOf(new Fault('rate_limited', undefined, { extras }))
    expect(body).to.include({
      limit: 5,
      status: 429,
      code: 'rate_limited',
      request_id: 'req_12345678',
      type: '/docs/problems/rate_limited',
    })
    expect(body['detail']).not.to.equal('x')
  })

  it('passes on the headers of a fault, but not another content type', () => {
    const { headers } = problem(
      new Fault('rate_limited', undefined, {
        headers: { 'Retry-After': '7', 'Content-Type': 'text/html' },
      }),
      'req_12345678',
      '/',
    )
    expect(headers).to.include({
      'Retry-After': '7',
      'Content-Type': 'application/problem+json',
    })
  })

  it('never shows what really happened inside: no stack, no cause, no message of a bug', () => {
    const bug = thrown('SELECT secret FROM hub', { detail: 'row 7', hint: 'no', cause: 'disk' })
    const wrapped = new Fault('plugin_failed', undefined, { cause: bug })
    for (const fault of [toFault(bug), wrapped]) {
      const text = JSON.stringify(problem(fault, 'req_12345678', '/'))
      expect(text).not.to.match(/SELECT|row 7|disk|stack|\bat .*\.ts/)
    }
  })
})

describe('whatever is thrown', () => {
  it('is returned unchanged if it was expected', () => {
    const fault = new Fault('not_found')
    expect(toFault(fault)).to.equal(fault)
  })

  for (const value of [new Error('x'), 'text', null, undefined, 7, {}, { code: 42 }]) {
    it(`is an internal error otherwise, kept for the log: ${JSON.stringify(value)}`, () => {
      const fault = toFault(value)
      expect(fault.code).to.equal('internal_error')
      expect(fault.cause).to.equal(value)
    })
  }

  const down = [
    '08006',
    '25006',
    '57P01',
    '57P03',
    '57014',
    '55P03',
    '53300',
    'ECONNREFUSED',
    'ECONNRESET',
    'ETIMEDOUT',
  ]
  for (const code of down) {
    it(`means "not now" when the database cannot be reached: ${code}`, () => {
      expect(toFault(thrown('x', { code }))).to.include({
        code: 'service_unavailable',
        status: 503,
      })
    })
  }

  for (const code of ['23505', '42P01', 'ENOENT']) {
    it(`does not mean "not now" when we are wrong: ${code}`, () => {
      expect(toFault(thrown('x', { code })).code).to.equal('internal_error')
    })

    it('is of what could not be given back, rather than of why it was to be', () => {
      const cut = thrown('x', { code: '57P01' })
      const both = new SuppressedError(cut, new Fault('plugin_failed', 'refunded'))
      expect(toFault(both)).to.include({ code: 'service_unavailable', cause: cut })
    })
  }
})
