import { createServer, type ServerResponse } from 'node:http'
import { decodePaymentSignatureHeader } from '@x402/core/http'
import { UptoEvmScheme } from '@x402/evm/upto/server'
import { paymentMiddleware, setSettlementOverrides, x402ResourceServer } from '@x402/express'
import express from 'express'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { type Hex, USDC_BASE } from '../../core/payments/chain/asset.ts'
import type { Facilitator } from '../../core/payments/facilitators/facilitator.ts'
import { localFacilitator } from '../../core/payments/facilitators/local.ts'
import { fund } from '../../server/sandbox/wallets.ts'
import { closeServer, listenOnLoopback } from '../support/loopback.ts'

export interface UptoSeller {
  readonly port: number
  readonly payments: string[]
  /** Members of the receipts that are not true. */
  forged: Readonly<Record<string, unknown>>
  /** Answers requests that bring a payment, in place of the seller. */
  onPaid?: ((response: ServerResponse) => unknown) | undefined
  /** Begins to sell on a chain, with a facilitator of its own. */
  open(rpcUrl: string): Promise<void>
  /** Settles a payment once more, after the chain lost its first settlement. */
  settleAgain(rpcUrl: string, payment: string, amount: number): Promise<void>
  close(): Promise<void>
}

function forge(receipt: string, members: UptoSeller['forged']): string {
  const signed = JSON.parse(Buffer.from(receipt, 'base64').toString()) as object
  return Buffer.from(JSON.stringify({ ...signed, ...members })).toString('base64')
}

interface Terms {
  readonly payTo: Hex
  /** Microdollars. */
  readonly max: bigint
}

/**
 * Starts a seller at a metered price: the unmodified server of `@x402/express`. `POST /work` takes
 * the `usage` of the request's body, in microdollars, and fails instead if the body says `fail`.
 */
export async function startUptoSeller({ payTo, max }: Terms): Promise<UptoSeller> {
  const payments: string[] = []
  let app: express.Express | undefined
  const server = createServer((request, response) => {
    const { 'payment-signature': payment } = request.headers
    if (typeof payment === 'string') {
      payments.push(payment)
      if (seller.onPaid) return void seller.onPaid(response)
    }
    const setHeader = response.setHeader.bind(response)
    response.setHeader = (name, value) => {
      const isReceipt = name.toLowerCase() === 'payment-response'
      return setHeader(name, isReceipt ? forge(String(value), seller.forged) : value)
    }
    app?.(request, response)
  })
  const port = await listenOnLoopback(server)
  const key = generatePrivateKey()
  const openFacilitator = (rpcUrl: string): Facilitator =>
    localFacilitator({ rpcUrl, key, network: USDC_BASE.network, pollMs: 50 })
  const seller: UptoSeller = {
    port,
    payments,
    forged: {},
    async open(rpcUrl) {
      const { network, address: asset, name, version } = USDC_BASE
      await fund(rpcUrl, privateKeyToAccount(key).address, { wei: 10n ** 18n })
      const resources = new x402ResourceServer(openFacilitator(rpcUrl)).register(
        network,
        new UptoEvmScheme(),
      )
      const price = { amount: String(max), asset, extra: { name, version } }
      const accepts = { scheme: 'upto', network, payTo, price, maxTimeoutSeconds: 120 }
      app = express()
      app.use(paymentMiddleware({ 'POST /work': { accepts, description: 'Work.' } }, resources))
      app.use(express.json())
      app.post('/work', (request, response) => {
        const { usage, fail } = request.body as { usage: number; fail?: boolean }
        setSettlementOverrides(response, { amount: String(usage) })
        if (fail) response.status(500).json({ failed: true })
        else response.json({ used: usage })
      })
    },
    async settleAgain(rpcUrl, payment, amount) {
      const payload = decodePaymentSignatureHeader(payment)
      const requirements = { ...payload.accepted, amount: String(amount) }
      const again = openFacilitator(rpcUrl) // the first one counts transactions that are gone
      const { success, errorReason } = await again.settle(payload, requirements)
      if (!success) throw new Error(errorReason)
    },
    async close() {
      await closeServer(server)
    },
  }
  return seller
}
