import { decodePaymentResponseHeader } from '@x402/core/http'
import { BAZAAR } from '@x402/extensions/bazaar'
import { OFFER_RECEIPT } from '@x402/extensions/offer-receipt'
import {
  appendPaymentIdentifierToExtensions,
  isValidPaymentId,
  PAYMENT_IDENTIFIER,
} from '@x402/extensions/payment-identifier'
import { SIGN_IN_WITH_X } from '@x402/extensions/sign-in-with-x'
import { expect } from 'chai'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import type { Facilitator } from '../../../../core/payments/facilitators/facilitator.ts'
import type { Claim } from '../../../../core/payments/receiving/claim.ts'
import { createOffers, X402_TERMS } from '../../../../core/payments/receiving/offers.ts'
import { paymentIdentifierOf } from '../../../../core/payments/receiving/payment-identifier.ts'
import { paymentResponseOf } from '../../../../core/payments/receiving/payment-response.ts'
import { NETWORK, sign } from '../stack.ts'

const SALE = {
  amount: 3_000n,
  maxTimeoutSeconds: 60,
  resource: { url: 'https://hub.test/echo', description: 'Echo', mimeType: 'application/json' },
  error: 'payment_required',
}
const NAMES = [BAZAAR.key, PAYMENT_IDENTIFIER, OFFER_RECEIPT, SIGN_IN_WITH_X]
const TRANSACTION = `0x${'ab'.repeat(32)}`

describe('x402 extensions of offers and payments', () => {
  const account = privateKeyToAccount(generatePrivateKey())
  const facilitator = {
    getSupported: async () => ({ kinds: [], extensions: [], signers: {} }),
    settle: async () => ({
      success: true,
      transaction: TRANSACTION,
      network: NETWORK,
      extensions: { sponsored: { info: {} } },
    }),
  } as Partial<Facilitator> as Facilitator
  const offers = createOffers({
    facilitator: { ...facilitator, batched: facilitator },
    payTo: account.address,
    network: NETWORK,
  })

  it('fit in one header of 8 KiB, also repeated by a payment with an id', async () => {
    const lengths = Array.from({ length: 40 }, (_, i) => 2_000 + i * 100)
    const sent = lengths.map(async (length) => {
      const extensions = { long: { info: 'x'.repeat(length) } }
      const { required, header } = await offers.signedOffer({ ...SALE, extensions })
      appendPaymentIdentifierToExtensions(required.extensions!, 'x'.repeat(128))
      const line = `PAYMENT-SIGNATURE: ${await sign(account, required)}\r\n`
      expect(line.length, `offer of ${header.length}`).to.be.at.most(8_192)
      return required.extensions!
    })
    const extensions = await Promise.all(sent)
    expect(extensions.at(0)).to.have.keys('long', PAYMENT_IDENTIFIER)
    expect(extensions.at(-1)).to.have.keys(PAYMENT_IDENTIFIER)
  })

  it('of the facilitator stand beside the receipt in PAYMENT-RESPONSE', async () => {
    const { required } = offers.offer(SALE)
    const payment = offers.read(await sign(account, required))
    const settled = await offers.settle(payment, offers.requirements(SALE))
    expect(settled).to.include({ outcome: 'settled', tx: TRANSACTION })
    const receipt = { [OFFER_RECEIPT]: { info: {} } }
    const claim = {
      id: '0',
      key: { network: NETWORK, payer: account.address },
      amount: 3_000n,
    } as Claim
    const header = await paymentResponseOf(
      { offers: { signReceipt: async () => receipt } },
      claim,
      TRANSACTION,
      SALE.resource.url,
      settled.extensions,
    )
    const { extensions } = decodePaymentResponseHeader(header)
    expect(extensions).to.deep.equal({ sponsored: { info: {} }, ...receipt })
  })

  it('have the names and ids of the packages, which load with the first offer', () => {
    expect(X402_TERMS.extensions).to.deep.equal(NAMES)
    for (const id of [
      'x'.repeat(15),
      'x'.repeat(16),
      'aZ-_09'.repeat(4),
      'x'.repeat(129),
      'ä'.repeat(20),
    ]) {
      const payment = { extensions: { [PAYMENT_IDENTIFIER]: { info: { id } } } }
      const read = () => paymentIdentifierOf(payment)
      if (isValidPaymentId(id)) expect(read()).to.equal(id)
      else expect(read).to.throw('payment-identifier')
    }
  })
})
