import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import {
  decodePaymentSignatureHeader,
  encodePaymentRequiredHeader,
  encodePaymentResponseHeader,
} from '@x402/core/http'
import { x402ResourceServer } from '@x402/core/server'
import type { PaymentRequirements } from '@x402/core/types'
import { toFacilitatorEvmSigner } from '@x402/evm'
import { ExactEvmScheme } from '@x402/evm/exact/server'
import { ExactEvmSchemeV1 } from '@x402/evm/exact/v1/facilitator'
import { paymentMiddleware } from '@x402/express'
import { expect } from 'chai'
import express from 'express'
import { createWalletClient, http, publicActions } from 'viem'
import { base } from 'viem/chains'
import { systemClock } from '../../../../core/clock.ts'
import {
  quoteExternal,
  sendPaid,
  signPayment,
} from '../../../../core/payments/paying/x402-client.ts'
import { realSockets } from '../../egress/fixture.ts'
import { NETWORK, type Stack, startStack, USDC } from '../stack.ts'
import { GET, withSeller } from './fixture.ts'

/** Sellers built with the SDK and a chain that transfers the money. */
describe('a purchase from a seller of the SDK', () => {
  realSockets()
  let stack: Stack
  before(async () => {
    stack = await startStack()
  })
  after(() => stack.stop())

  async function buyFrom(seller: RequestListener, from: 'agent' | 'gas' = 'agent') {
    const { account } = stack.wallets[from]
    return withSeller(seller, async ({ egress }) => {
      const policy = { maxAmount: 10_000n, ownWallets: [account.address] }
      const terms = await quoteExternal(egress, GET, policy)
      const signed = await signPayment(account, terms, systemClock.now())
      return { signed, outcome: await sendPaid(egress, GET, signed) }
    })
  }

  it('is settled by version 2, also if a day is allowed', async () => {
    const { signed, outcome } = await buyFrom(await sellerV2(86_400))
    expect(outcome).to.include({ outcome: 'paid' })
    expect(signed.header.name).to.equal('PAYMENT-SIGNATURE')
    await wasPaid(outcome.tx, 3_000n)
  })

  it('is settled by the unmodified server of @x402/express', async () => {
    const accepts = { scheme: 'exact', network: NETWORK, payTo: stack.payTo, price: '$0.004' }
    const resources = new x402ResourceServer(stack.facilitator).register(
      NETWORK,
      new ExactEvmScheme(),
    )
    const app = express()
    app.use(paymentMiddleware({ 'GET /x': { accepts, description: 'Goods.' } }, resources))
    app.get('/x', (_, response) => void response.send('goods'))
    const { outcome } = await buyFrom(app)
    expect(outcome).to.include({ outcome: 'paid' })
    expect(String(outcome.response?.body)).to.equal('goods')
    await wasPaid(outcome.tx, 4_000n)
  })

  it('is settled by version 1', async () => {
    const { signed, outcome } = await buyFrom(sellerV1())
    expect(outcome).to.include({ outcome: 'paid' })
    expect(signed.header.name).to.equal('X-PAYMENT')
    await wasPaid(outcome.tx, 2_000n)
  })

  it('is unresolved if the payer has no money', async () => {
    const { outcome } = await buyFrom(await sellerV2(60), 'gas')
    expect(outcome).to.include({ outcome: 'unresolved', reason: 'upstream_payment_rejected' })
  })

  async function wasPaid(tx: string | undefined, value: bigint) {
    const receipt = (await stack.rpc('eth_getTransactionReceipt', tx)) as {
      status: string
      logs: { address: string; data: string }[]
    }
    expect(receipt.status).to.equal('0x1')
    const amounts = receipt.logs.map(({ data }) => (data === '0x' ? 0n : BigInt(data)))
    expect(amounts).to.include(value)
  }

  /** Like the resource server of the SDK: match, verify, work, settle. */
  async function sellerV2(maxTimeoutSeconds: number): Promise<RequestListener> {
    const { facilitator } = stack
    const server = new x402ResourceServer({
      verify: (payload, requirements) => facilitator.verify(payload, requirements),
      settle: (payload, requirements) => facilitator.settle(payload, requirements),
      getSupported: async () => ({
        kinds: [{ x402Version: 2, scheme: 'exact', network: NETWORK }],
        extensions: [],
        signers: {},
      }),
    }).register(NETWORK, new ExactEvmScheme())
    await server.initialize()
    const accepts = await server.buildPaymentRequirements({
      scheme: 'exact',
      network: NETWORK,
      payTo: stack.payTo,
      price: '$0.003',
      maxTimeoutSeconds,
    })
    const resource = { url: GET.url, description: 'x', mimeType: 'text/plain' }
    const offer = encodePaymentRequiredHeader({ x402Version: 2, resource, accepts })
    const sell = async (request: IncomingMessage, response: ServerResponse) => {
      const payment = decodePaymentSignatureHeader(String(request.headers['payment-signature']))
      const match = server.findMatchingRequirements(accepts, payment)
      if (!match) return response.writeHead(400).end()
      const { isValid } = await server.verifyPayment(payment, match)
      if (!isValid) return response.writeHead(402, { 'payment-required': offer }).end('{}')
      const receipt = encodePaymentResponseHeader(await server.settlePayment(payment, match))
      return response.writeHead(200, { 'payment-response': receipt }).end('goods')
    }
    return (request, response) => {
      if (request.headers['payment-signature']) void sell(request, response)
      else response.writeHead(402, { 'payment-required': offer }).end('{}')
    }
  }

  function sellerV1(): RequestListener {
    const requirements = {
      scheme: 'exact',
      network: 'base',
      maxAmountRequired: '2000',
      resource: GET.url,
      description: 'x',
      mimeType: 'text/plain',
      payTo: stack.payTo,
      maxTimeoutSeconds: 60,
      asset: USDC,
      outputSchema: {},
      extra: { name: 'USD Coin', version: '2' },
    }
    const wallet = createWalletClient({
      account: stack.wallets.gas.account,
      chain: base,
      transport: http(stack.rpcUrl),
      pollingInterval: 25,
    }).extend(publicActions)
    const scheme = new ExactEvmSchemeV1(
      toFacilitatorEvmSigner({ ...wallet, address: wallet.account.address } as never),
    )
    const asV2 = requirements as unknown as PaymentRequirements
    const sell = async (header: string, response: ServerResponse) => {
      const payment = decodePaymentSignatureHeader(header)
      const { isValid, invalidReason } = await scheme.verify(payment, asV2)
      if (!isValid) return response.writeHead(402).end(invalidReason)
      const receipt = JSON.stringify(await scheme.settle(payment, asV2))
      const value = Buffer.from(receipt).toString('base64')
      return response.writeHead(200, { 'x-payment-response': value }).end('goods')
    }
    return (request, response) => {
      const header = request.headers['x-payment']
      if (typeof header === 'string') void sell(header, response)
      else {
        response.writeHead(402, { 'content-type': 'application/json' })
        response.end(JSON.stringify({ x402Version: 1, error: 'pay', accepts: [requirements] }))
      }
    }
  }
})
