import { expect } from 'chai'
import * as fc from 'fast-check'
import { type Offer, parseOffer } from '../../../../core/payments/paying/offer.ts'
import { chooseTerms } from '../../../../core/payments/paying/terms.ts'
import { PaymentTermsError } from '../../../../core/payments/paying/terms-error.ts'
import { base64, choose, header, type Json, POLICY, refusal, V2, v2 } from './offer-samples.ts'

describe('parseOffer and chooseTerms', () => {
  function typed(work: () => Offer): void {
    try {
      chooseTerms(work(), POLICY)
    } catch (error) {
      if (!(error instanceof PaymentTermsError)) throw error
    }
  }
  /** Entries close enough to valid ones to reach every check. */
  const entry = fc.record(
    Object.fromEntries(
      Object.entries(V2).map(([name, good]) => [
        name,
        fc.oneof(fc.constant<unknown>(good), fc.jsonValue()),
      ]),
    ),
    { requiredKeys: [] },
  )

  it('throw only typed errors for any offer', () => {
    const answer = fc.oneof(
      fc.record({ version: fc.constantFrom(1, 2, '2'), accepts: fc.array(entry) }),
      fc.jsonValue(),
    )
    fc.assert(
      fc.property(answer, fc.jsonValue(), (offer, resource) => {
        const envelope = { x402Version: 2, resource, ...(offer as Json) }
        typed(() => parseOffer(header(base64(envelope))))
        typed(() => parseOffer({ headers: {}, body: Buffer.from(JSON.stringify(offer)) }))
      }),
      { numRuns: 1_000 },
    )
  })

  it('throw only typed errors for any bytes and text', () => {
    fc.assert(
      fc.property(fc.uint8Array(), fc.string(), (bytes, text) => {
        typed(() => parseOffer({ headers: {}, body: Buffer.from(bytes) }))
        typed(() => parseOffer(header(text)))
        typed(() => parseOffer(header(Buffer.from(bytes).toString('base64'))))
      }),
      { numRuns: 1_000 },
    )
  })

  it('choose only the cheapest entry within the maximum', () => {
    const amounts = fc.array(fc.bigInt({ min: 1n, max: 20_000n }), { minLength: 1, maxLength: 8 })
    fc.assert(
      fc.property(amounts, (all) => {
        const entries = all.map((amount) => ({ ...V2, amount: String(amount) }))
        const least = all.reduce((a, b) => (a < b ? a : b))
        if (least > 10_000n) expect(refusal(v2(entries)).price).to.equal(least)
        else expect(choose(v2(entries)).amount).to.equal(least)
      }),
    )
  })
})
