import type { ServerResponse } from 'node:http'
import { encodePaymentRequiredHeader } from '@x402/core/http'
import type { PaymentRequired } from '@x402/core/types'
import { type Hex, USDC_BASE } from '../../core/payments/chain/asset.ts'
import { type EntryChange, entry, entryV1 } from '../stories/attacks/sellers.ts'

/** Ordered product: its price and the seller's honest wallet. */
export interface Product {
  readonly url: string
  readonly amount: bigint
  readonly payTo: Hex
  /** Second wallet of the same seller. */
  readonly second: Hex
  /** Wallets of the platform, which the hub must never pay. */
  readonly platformWallets: readonly Hex[]
}

interface OfferContent {
  readonly entries?: readonly object[]
  readonly resource?: object
  readonly extensions?: object
}

const honestTerms = ({ amount, payTo }: Product): EntryChange => ({ amount: String(amount), payTo })
const singleEntry = (product: Product, change: EntryChange): OfferContent => ({
  entries: [entry({ ...honestTerms(product), ...change })],
})

/** Offers that the hub pays; the last two need special care. */
const PAYABLE: Readonly<Record<string, (product: Product) => OfferContent>> = {
  'version 2': (product) => singleEntry(product, {}),
  'the cheapest is not the first': (product) => ({
    entries: [
      entry({ ...honestTerms(product), amount: String(product.amount + 1n) }),
      entry({ ...honestTerms(product), amount: '1', network: 'eip155:1' }),
      entry(honestTerms(product)),
    ],
  }),
  'timeout of a day': (product) => singleEntry(product, { maxTimeoutSeconds: 86_400 }),
  'another wallet': (product) => singleEntry(product, { payTo: product.second }),
}

/** Offers that the hub must not pay. */
const UNPAYABLE: Readonly<Record<string, (product: Product) => OfferContent>> = {
  'wrong asset': (product) =>
    singleEntry(product, { asset: '0x600d000000000000000000000000000000900d00' }),
  'wrong network': (product) => singleEntry(product, { network: 'eip155:84532' }),
  'wrong scheme': (product) => singleEntry(product, { scheme: 'upto' }),
  'wrong name': (product) => singleEntry(product, { extra: { name: 'Gold', version: '2' } }),
  'wrong version of the token': (product) =>
    singleEntry(product, { extra: { name: 'USD Coin', version: '1' } }),
  Permit2: (product) =>
    singleEntry(product, { extra: { ...entry().extra, assetTransferMethod: 'permit2' } }),
  'above the cap': (product) => singleEntry(product, { amount: '1000001' }),
  'above the maximum': (product) => singleEntry(product, { amount: '99999' }),
  '18 decimals': (product) => singleEntry(product, { amount: `${product.amount}000000000000` }),
  'amount in dollars': (product) => singleEntry(product, { amount: '0.02' }),
  'amount as a number': (product) => singleEntry(product, { amount: 20_000 }),
  'negative amount': (product) => singleEntry(product, { amount: '-20000' }),
  'two amounts': (product) => singleEntry(product, { maxAmountRequired: '900000' }),
  'treasury of the platform': (product) =>
    singleEntry(product, { payTo: product.platformWallets[0]! }),
  'spend wallet of the platform': (product) =>
    singleEntry(product, { payTo: product.platformWallets[1]!.toLowerCase() }),
  'zero address': (product) => singleEntry(product, { payTo: `0x${'00'.repeat(20)}` }),
  'timeout of a decade': (product) => singleEntry(product, { maxTimeoutSeconds: 315_360_000 }),
  'another host': (product) => ({
    ...singleEntry(product, {}),
    resource: { url: 'http://bank.test/' },
  }),
  'an extension': (product) => ({
    ...singleEntry(product, {}),
    extensions: { 'sign-in-with-x': { info: { required: true } } },
  }),
}

/** Responses to an unpaid request that contain no valid offer. */
const INVALID_RESPONSES: Readonly<Record<string, (response: ServerResponse) => unknown>> = {
  'no offer': (response) => response.writeHead(402).end('Wire $0.02 to my bank.'),
  'two offers': (response) =>
    response
      .writeHead(
        402,
        [
          ['payment-required', 'e30='],
          ['payment-required', 'e30='],
        ].flat(),
      )
      .end(),
  'broken offer': (response) => response.writeHead(402, { 'payment-required': '{' }).end(),
  'for free': (response) => response.end('for free'),
  'error at once': (response) => response.writeHead(500).end(),
  'redirect at once': (response) => response.writeHead(302, { location: '/other' }).end(),
  'no response at once': (response) => response.destroy(),
}

export const GOOD_OFFERS = ['version 1', ...Object.keys(PAYABLE)]
export const BAD_OFFERS = [...Object.keys(UNPAYABLE), ...Object.keys(INVALID_RESPONSES)]

/** Responds to a request without a payment. */
export function offer(name: string, product: Product, response: ServerResponse): void {
  const invalidResponse = INVALID_RESPONSES[name]
  if (invalidResponse) return void invalidResponse(response)
  if (name === 'version 1') return offerV1(product, response)
  const offered = (PAYABLE[name] ?? UNPAYABLE[name])!(product)
  const { entries: accepts, resource = { url: product.url }, extensions } = offered
  const required = { x402Version: 2, resource, accepts, ...(extensions && { extensions }) }
  const header = encodePaymentRequiredHeader(required as unknown as PaymentRequired)
  response.writeHead(402, { 'payment-required': header }).end('{}')
}

function offerV1({ amount, payTo, url }: Product, response: ServerResponse): void {
  const accepts = [entryV1({ maxAmountRequired: String(amount), payTo, resource: url })]
  response.writeHead(402, { 'content-type': 'application/json' })
  response.end(JSON.stringify({ x402Version: 1, error: 'pay', accepts }))
}

/** Terms by which a version 1 payment is settled. */
export const requirementV1 = ({ amount, payTo }: Product) =>
  entry({ amount: String(amount), payTo, network: USDC_BASE.network })
