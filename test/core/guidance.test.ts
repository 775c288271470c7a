import { expect } from 'chai'
import { FAULTS, Fault, type FaultCode } from '../../core/errors.ts'
import type { MoneyOutcome } from '../../core/money-outcome.ts'
import { problem } from '../../server/http/problem.ts'

const OUTCOMES = [
  'none',
  'taken',
  'unresolved',
  'kept',
  'pending',
  'settled',
  'refunded',
  'uncertain',
  'unconfirmed',
] as const
const CODES = Object.keys(FAULTS) as FaultCode[]
/** Claims that nothing was paid, and invitations to pay again. */
const NOTHING_PAID = /nothing was|not charged|no credits are lost|buy credits|sign a new payment/i
const CHARGED = 1_400

const bodyOf = (code: FaultCode, money: MoneyOutcome) => {
  const charged = money === 'taken' ? CHARGED : 0
  const extras = code === 'validation_failed' ? { issues: [{ path: '/a', message: 'is bad' }] } : {}
  const fault = new Fault(code, 'Detail.', { money, extras })
  const { headers, body } = problem(fault, 'req_12345678', '/v1/x', charged)
  return { headers, body: body as Readonly<Record<string, unknown>> }
}

describe('advice of a problem', () => {
  for (const money of OUTCOMES) {
    it(`matches the outcome of the money for every code (${money})`, () => {
      for (const code of CODES) {
        const { headers, body } = bodyOf(code, money)
        const { advice, retryable, charged_microdollars: charged } = body
        expect(headers['X-Charged-Microdollars'], code).to.equal(String(charged))
        expect(charged, code).to.equal(money === 'taken' ? CHARGED : 0)
        if (['taken', 'unresolved', 'uncertain', 'unconfirmed'].includes(money)) {
          expect(retryable, code).to.equal(false)
          expect(advice, code).to.not.match(NOTHING_PAID)
        }
        if (money === 'kept') expect(advice, code).to.include('same payment')
        if (money !== 'none') continue
        const isUnknown = code === 'internal_error' || code === 'service_unavailable'
        const expected = isUnknown ? 'Nothing was charged. Try again later.' : FAULTS[code][2]
        expect(advice, code).to.equal(expected)
      }
    })
  }

  it('has Retry-After exactly if a repetition may succeed', () => {
    for (const money of [...OUTCOMES, 'unknown'] as const) {
      for (const code of CODES) {
        const { headers, body } = bodyOf(code, money)
        // A pending payment is repeated with the same payment; a new request could pay twice.
        const isRepeatable = body['retryable'] === true || money === 'pending'
        const seconds = headers['Retry-After']
        expect(seconds !== undefined, `${code}, ${money}`).to.equal(isRepeatable)
        if (seconds !== undefined) expect(seconds).to.match(/^[1-9]\d{0,3}$/)
      }
    }
  })

  it('has Retry-After for each 202, 409, 429, 503 and 504, unless time changes nothing', () => {
    const passing = CODES.filter((code) => [202, 409, 429, 503, 504].includes(FAULTS[code][0]))
    const lasting = passing.filter((code) => {
      const { headers } = problem(new Fault(code), 'req_12345678', '/v1/x')
      return headers['Retry-After'] === undefined
    })
    expect(lasting, 'somebody must change the request, the state or a limit').to.deep.equal([
      'pay_to_changed',
      'domain_not_proven',
      'slug_taken',
      'service_incomplete',
      'service_state',
      'owner_not_possible',
      'service_changed',
      'too_many_services',
      'too_many_domains',
      'not_booked',
      'already_refunded',
      'not_closable',
      'not_resolvable',
      'last_administrator',
      'nonce_used',
      'payment_identifier_reused',
      'billing_details_required',
      'document_not_available',
      'outflow_cap_reached',
      'documents_not_configured',
      'service_suspended',
      'render_limit_exceeded',
    ])
  })

  it('invites no repetition that could pay or change something twice', () => {
    for (const code of CODES) {
      for (const money of ['taken', 'unresolved', 'uncertain', 'unconfirmed'] as const) {
        const fault = new Fault(code, 'Detail.', { money, headers: { 'Retry-After': '7' } })
        const { headers } = problem(fault, 'req_12345678', '/v1/x')
        expect(headers, code).to.not.have.property('Retry-After')
      }
    }
  })

  it('never says that nothing was paid while a payment is pending or settled', () => {
    for (const code of CODES) {
      for (const money of ['pending', 'settled'] as const) {
        const { advice } = bodyOf(code, money).body
        if (code !== 'payment_replayed') expect(advice, code).to.not.match(NOTHING_PAID)
      }
    }
  })

  it('follows the charge, even if the fault does not state the outcome', () => {
    for (const code of CODES) {
      const { body } = problem(new Fault(code), 'req_12345678', '/v1/x', CHARGED)
      expect(body, code).to.include({ retryable: false, charged_microdollars: CHARGED })
      expect((body as { advice: string }).advice, code).to.not.match(NOTHING_PAID)
    }
  })
})
