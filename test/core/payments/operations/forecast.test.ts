import { expect } from 'chai'
import { forecastPayment } from '../../../../core/payments/operations/forecast.ts'
import type { PaymentDetails } from '../../../../core/payments/operations/overview.ts'

const NOW = new Date('2026-11-21T10:00:00Z')
const at = (seconds: number): Date => new Date(NOW.getTime() + seconds * 1_000)

const seen = (more: Partial<PaymentDetails>): PaymentDetails => ({
  id: '019aa5b7-0000-7000-8000-000000000001',
  direction: 'out',
  purpose: 'external',
  amount: 10_000n,
  counterparty: '0x01',
  host: 'seller.test',
  key: 'key_1',
  state: 'signed',
  status: null,
  reason: null,
  transaction: null,
  nonce: '0x02',
  delivered: true,
  since: at(-10),
  ageSeconds: 10,
  validBefore: at(50),
  now: NOW,
  ...more,
})
const bought = (more: Partial<PaymentDetails>) =>
  seen({ direction: 'in', purpose: 'call', host: null, key: null, ...more })

describe('the outlook of a payment', () => {
  const OPEN: Readonly<Record<string, readonly [PaymentDetails, RegExp]>> = {
    'signed for a seller': [seen({}), /^The signature was kept.* if the seller took the money/],
    'without an answer': [
      seen({ state: 'unresolved', reason: 'upstream_timeout' }),
      /^No answer came \(upstream_timeout\)/,
    ],
    'answered with an error': [
      seen({ state: 'unresolved', status: 500, reason: 'upstream_error' }),
      /^The seller answered 500 \(upstream_error\)/,
    ],
    'charged to the caller': [seen({ state: 'paid' }), /a block with the transfer.*gets the money/],
    'charged without delivery': [
      seen({ state: 'paid', reason: 'upstream_error' }),
      /though nothing was delivered \(upstream_error\)/,
    ],
    'claimed for a request': [bought({ state: 'claimed' }), /A request is at work on it/],
    'sent to the chain': [bought({ state: 'pending' }), /has to pay in advance/],
    'booked as in transit': [bought({ state: 'settled' }), /what the chain forgets is booked back/],
  }
  for (const [what, [payment, words]] of Object.entries(OPEN)) {
    it(`${what} says what is waited for and until when`, () => {
      const { deadline, isOverdue: overdue, nextStep } = forecastPayment(payment, 1n)
      expect(deadline).to.deep.equal(at(50 + 30 + 2))
      expect(overdue).to.equal(false)
      expect(nextStep).to.match(words)
      expect(nextStep).to.match(/By 2026-11-21T10:01:22\.000Z this is final/)
    })
  }

  it('of a large payment waits for more blocks', () => {
    const { deadline, nextStep } = forecastPayment(
      seen({ state: 'paid', amount: 10_000_000_000n }),
      10n,
    )
    expect(deadline).to.deep.equal(at(50 + 30 + 600 * 2))
    expect(nextStep).to.match(/waits for 600 blocks/)
  })

  it('is overdue a minute after its deadline, and tells a person what to look at', () => {
    const validBefore = (seconds: number) => ({ validBefore: at(seconds - 30 - 2) })
    expect(forecastPayment(seen(validBefore(-60)), 1n).isOverdue).to.equal(false)
    const late = forecastPayment(seen(validBefore(-61)), 1n)
    expect(late.isOverdue).to.equal(true)
    expect(late.nextStep).to.match(/This is overdue\. See that the jobs run.*RPC_URL/)
    expect(late.nextStep).to.not.match(/is final/)
  })

  it('of what is final has no deadline, and a step only where a person may do something', () => {
    for (const state of ['confirmed', 'unused']) {
      const final = forecastPayment(seen({ state, validBefore: at(-9_999) }), 1n)
      expect(final).to.deep.equal({ deadline: undefined, overdue: false, nextStep: undefined })
    }
    expect(forecastPayment(bought({ state: 'failed' }), 1n).nextStep).to.equal(undefined)
    const taken = forecastPayment(seen({ state: 'confirmed', reason: 'upstream_error' }), 1n)
    expect(taken.nextStep).to.match(/^The seller took the money.*ledger -- adjust .*key_1:credits/)
    const owed = forecastPayment(bought({ state: 'confirmed', delivered: false }), 1n)
    expect(owed.nextStep).to.match(/same request with the same payment/)
  })
})
