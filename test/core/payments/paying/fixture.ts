import type { RequestListener } from 'node:http'
import { encodePaymentResponseHeader } from '@x402/core/http'
import { privateKeyToAccount } from 'viem/accounts'
import type { Egress } from '../../../../core/egress/http.ts'
import { parseSandboxHosts } from '../../../../core/egress/sandbox.ts'
import type { Terms } from '../../../../core/payments/paying/terms.ts'
import type { ExternalRequest } from '../../../../core/payments/paying/x402-client.ts'
import { type Listening, listen, withEgress } from '../../egress/fixture.ts'

export const account = privateKeyToAccount(`0x${'11'.repeat(32)}`)
export const PAY_TO = '0x5d6dF6b10C54617dac4Bf9993ad9fA384b7B36d3'
export const TX = `0x${'ab'.repeat(32)}`
export const NOW = new Date('2026-11-21T12:00:00.900Z')
export const ENTRY = {
  scheme: 'exact',
  network: 'eip155:8453',
  amount: '3000',
  asset: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
  payTo: PAY_TO,
  maxTimeoutSeconds: 300,
  extra: { name: 'USD Coin', version: '2' },
}
export const RESOURCE = { url: 'http://seller.test/x', description: 'täxt' }
export const POLICY = { maxAmount: 10_000n, ownWallets: [account.address] }
export const GET: ExternalRequest = { url: 'http://seller.test/x', method: 'GET' }

export type Json = Record<string, unknown>
export type Respond = Parameters<RequestListener>
export const base64 = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64')
export const offer = (change: Json = {}) =>
  base64({ x402Version: 2, resource: RESOURCE, accepts: [{ ...ENTRY, ...change }] })
export const success = (more: Json = {}) =>
  encodePaymentResponseHeader({
    success: true,
    transaction: TX,
    network: 'eip155:8453',
    payer: account.address,
    ...more,
  })

/** Requires payment and handles paid requests with `paid`. */
export const paywall =
  (paid: RequestListener, header = offer()): RequestListener =>
  (request, response) => {
    if (request.headers['payment-signature'] ?? request.headers['x-payment']) {
      paid(request, response)
    } else response.writeHead(402, { 'payment-required': header }).end('{}')
  }

export const respondWith =
  (status: number, headers: Json = {}, body = 'goods'): RequestListener =>
  (...[, response]: Respond) =>
    void response.writeHead(status, headers as Record<string, string>).end(body)

export interface SellerFixture {
  readonly egress: Egress
  readonly seller: Listening
}

export async function withSeller<T>(
  answer: RequestListener,
  work: (world: SellerFixture) => Promise<T>,
): Promise<T> {
  const seller = await listen(answer)
  const sandboxHosts = parseSandboxHosts(`seller.test=127.0.0.1:${seller.port}`)
  try {
    return await withEgress({ sandboxHosts }, (egress) => work({ egress, seller }))
  } finally {
    await seller.stop()
  }
}

export const TERMS: Terms = {
  version: 2,
  amount: 3_000n as Terms['amount'],
  payTo: PAY_TO,
  payToChanged: false,
  maxTimeoutSeconds: 300,
  flow: 'authorization',
  accepted: ENTRY,
  resource: RESOURCE,
}
