import { expect } from 'chai'
import { checkOffer, checkOffers } from '../../../../core/catalog/listings/discovery/offers.ts'
import { classifyResponse } from '../../../../core/catalog/listings/probe/classify-response.ts'
import { offer, PAY_TO } from '../rows.ts'

const extra = { assetTransferMethod: 'permit2', facilitatorAddress: PAY_TO }
const metered = (change: object = {}) => offer({ scheme: 'upto', extra, ...change })

/** Classifies a 402 that offers a metered price, as a hub that buys them, or one that does not. */
const classify = (buysMetered: boolean, entries = [metered()]) => {
  const body = Buffer.from(JSON.stringify({ x402Version: 2, accepts: entries }))
  return classifyResponse({ status: 402, headers: {}, body }, 'https://acme.com/', buysMetered)
}

describe('an offer of a metered price (scheme upto)', () => {
  it('is valid if a named facilitator takes the usage by Permit2', () => {
    expect(checkOffer(metered())).to.include({ scheme: 'upto', payable: false })
    for (const change of [
      { extra: {} },
      { extra: { ...extra, facilitatorAddress: '0x1' } },
      { extra: { ...extra, assetTransferMethod: 'eip3009' } },
    ])
      expect(checkOffer(metered(change))).to.equal('scheme')
  })

  it('comes after a fixed price', () =>
    expect(checkOffers([metered(), offer()])).to.have.nested.property('[0].scheme', 'exact'))

  it('is payable by a hub that buys metered prices, and by no other', () => {
    expect(classify(true)).to.include({ outcome: 'up' }).and.to.not.have.property('notPayable')
    expect(classify(true)).to.have.nested.property('offers[0].payable', true)
    expect(classify(false)).to.include({ outcome: 'up' }).and.to.have.property('notPayable')
    expect(classify(false)).to.have.nested.property('offers[0].payable', false)
  })

  it('leaves a fixed price of the same amount the one that is paid', () => {
    const offers = classify(true, [metered(), offer()]).offers!
    expect(offers.map(({ scheme, payable }) => [scheme, payable])).to.deep.equal([
      ['exact', true],
      ['upto', false],
    ])
  })
})
