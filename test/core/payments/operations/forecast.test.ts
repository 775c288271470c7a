import { expect } from 'chai'
import { forecastPayment } from '../../../../core/payments/operations/forecast.ts'
import type { PaymentDetails } from '../../../../core/payments/operations/overview.ts'

const NOW = new Date('2026-11-21T10:00:00Z')
const at = (seconds: number): Date => new Date(NOW.getTime() + seconds * 1_000)

const sold = (more: Partial<PaymentDetails>): PaymentDetails => ({
  id: '019aa5b7-0000-7000-8000-000000000001',
  direction: 'out',
  purpose: 'external',
  network: 'eip155:8453',
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
  sold({ direction: 'in', purpose: 'call', host: null, key: null, ...more })

describe('the forecast of a payment', () => {
  const OPEN: Readonly<Record<string, readonly [PaymentDetails, RegExp]>> = {
    'signed for a seller': [sold({}), /^The signature may have been sent.*seller took the money/],
    'without a response': [
      sold({ state: 'unresolved', reason: 'upstream_timeout' }),
      /^No response \(upstream_timeout\)/,
    ],
    'refused by the seller': [
      sold({ state: 'unresolved', status: 500, reason: 'upstream_error' }),
      /^The seller returned 500 \(upstream_error\)/,
    ],
    'charged to the caller': [sold({ state: 'paid' }), /a block with the transfer.*is refunded/],
    'charged without delivery': [
      sold({ state: 'paid', reason: 'upstream_error' }),
      /though nothing was delivered \(upstream_error\)/,
    ],
    'claimed for a request': [bought({ state: 'claimed' }), /A request is processing it/],
    'sent to the chain': [bought({ state: 'pending' }), /must pay in advance/],
    'posted as in transit': [
      bought({ state: 'settled' }),
      /reverses the entry if the transfer vanishes/,
    ],
  }
  for (const [state, [payment, text]] of Object.entries(OPEN)) {
    it(`${state} names the next step and the deadline`, () => {
      const { deadline, isOverdue, nextStep } = forecastPayment(payment, 1n)
      expect(deadline).to.deep.equal(at(50 + 30 + 2))
      expect(isOverdue).to.equal(false)
      expect(nextStep).to.match(text)
      expect(nextStep).to.match(/This is final by 2026-11-21T10:01:22\.000Z/)
    })
  }

  it('waits for more blocks if the payment is large', () => {
    const { deadline, nextStep } = forecastPayment(
      sold({ state: 'paid', amount: 10_000_000_000n }),
      10n,
    )
    expect(deadline).to.deep.equal(at(50 + 30 + 600 * 2))
    expect(nextStep).to.match(/waits for 600 blocks/)
  })

  it('is overdue a minute after the deadline and says what the operator should check', () => {
    const validBefore = (seconds: number) => ({ validBefore: at(seconds - 30 - 2) })
    expect(forecastPayment(sold(validBefore(-60)), 1n).isOverdue).to.equal(false)
    const late = forecastPayment(sold(validBefore(-61)), 1n)
    expect(late.isOverdue).to.equal(true)
    expect(late.nextStep).to.match(/This is overdue\. Check that the jobs run.*RPC_URL/)
    expect(late.nextStep).to.not.match(/is final/)
  })

  it('has no deadline once final, and a next step only if an operator can act', () => {
    for (const state of ['confirmed', 'unused']) {
      const final = forecastPayment(sold({ state, validBefore: at(-9_999) }), 1n)
      expect(final).to.deep.equal({ deadline: undefined, isOverdue: false, nextStep: undefined })
    }
    expect(forecastPayment(bought({ state: 'failed' }), 1n).nextStep).to.equal(undefined)
    const taken = forecastPayment(sold({ state: 'confirmed', reason: 'upstream_error' }), 1n)
    expect(taken.nextStep).to.match(
      /^The seller took the money.*finance.adjustments.*key_1:credits/,
    )
    const owed = forecastPayment(bought({ state: 'confirmed', delivered: false }), 1n)
    expect(owed.nextStep).to.match(/same request with the same payment/)
  })
})
