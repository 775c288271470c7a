import { encodePaymentRequiredHeader } from '@x402/core/http'
import { expect } from 'chai'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { PaymentUnresolved, payDirect } from '../../../core/client/direct.ts'
import { USDC_BASE } from '../../../core/payments/chain/asset.ts'
import { type Listening, listen } from '../../server/http.ts'

const wallet = { account: privateKeyToAccount(generatePrivateKey()), sandbox: true }

/** Reaction of the seller to a payment. */
type Reaction = 'deliver' | 'reset' | number

describe('a purchase from a seller without a hub', () => {
  let server: Listening
  let reaction: Reaction
  let payments = 0
  const order = () => ({ url: `http://127.0.0.1:${server.port}/work`, method: 'POST' as const })

  before(async () => {
    const { network, address: asset, name, version } = USDC_BASE
    const offer = encodePaymentRequiredHeader({
      x402Version: 2,
      resource: { url: 'http://127.0.0.1/work', description: 'Work.', mimeType: 'text/plain' },
      accepts: [
        {
          scheme: 'exact',
          network,
          amount: '3000',
          asset,
          payTo: '0x00000000000000000000000000000000000000bb',
          maxTimeoutSeconds: 60,
          extra: { name, version },
        },
      ],
    })
    server = await listen((request, response) => {
      if (request.headers['payment-signature'] === undefined) {
        return response.writeHead(402, { 'payment-required': offer }).end('{}')
      }
      payments++
      if (reaction === 'reset') return request.socket.destroy()
      const status = reaction === 'deliver' ? 200 : reaction
      const forged = { 'x-charged-microdollars': 'nothing', 'x-payment-source': 'free' }
      response.writeHead(status, forged).end('{}')
    })
  })
  beforeEach(() => {
    payments = 0
  })
  after(() => server.close())

  it('charges what was signed, whatever the seller says', async () => {
    reaction = 'deliver'
    const answer = await payDirect(wallet, order(), 10_000n)
    expect(answer).to.include({ charged: 3_000n, source: 'x402', callId: undefined })
  })

  it('is unresolved once the payment was sent and nothing was delivered', async () => {
    for (reaction of ['reset', 500, 404, 402] as const) {
      payments = 0
      const error = await payDirect(wallet, order(), 10_000n).catch((cause: unknown) => cause)
      expect(error, String(reaction)).to.be.instanceOf(PaymentUnresolved)
      const { amount, expiresAt } = error as PaymentUnresolved
      expect(amount).to.equal(3_000n)
      expect(expiresAt.getTime() - Date.now()).to.be.within(0, 60_000)
      expect(payments).to.equal(1)
    }
  })
})
