import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { UptoEvmScheme } from '@x402/evm/upto/server'
import { paymentMiddleware, setSettlementOverrides, x402ResourceServer } from '@x402/express'
import express from 'express'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { type Hex, USDC_BASE } from '../../core/payments/chain/asset.ts'
import { localFacilitator } from '../../core/payments/facilitators/local.ts'
import { fund } from '../../server/sandbox/wallets.ts'

export interface UptoSeller {
  readonly port: number
  readonly payments: string[]
  /** Members of the receipts that are not true. */
  forged: Readonly<Record<string, unknown>>
  /** Begins to sell on a chain, with a facilitator of its own. */
  open(rpcUrl: string): Promise<void>
  close(): Promise<void>
}

function forge(receipt: string, members: UptoSeller['forged']): string {
  const told = JSON.parse(Buffer.from(receipt, 'base64').toString()) as object
  return Buffer.from(JSON.stringify({ ...told, ...members })).toString('base64')
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
    if (typeof payment === 'string') payments.push(payment)
    const setHeader = response.setHeader.bind(response)
    response.setHeader = (name, value) => {
      const isReceipt = name.toLowerCase() === 'payment-response'
      return setHeader(name, isReceipt ? forge(String(value), seller.forged) : value)
    }
    app?.(request, response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const seller: UptoSeller = {
    port: (server.address() as AddressInfo).port,
    payments,
    forged: {},
    async open(rpcUrl) {
      const { network, address: asset, name, version } = USDC_BASE
      const key = generatePrivateKey()
      await fund(rpcUrl, privateKeyToAccount(key).address, { wei: 10n ** 18n })
      const facilitator = localFacilitator({ rpcUrl, key, network, pollMs: 50 })
      const resources = new x402ResourceServer(facilitator).register(network, new UptoEvmScheme())
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
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
  return seller
}
