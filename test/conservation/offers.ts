import type { ServerResponse } from 'node:http'
import { encodePaymentRequiredHeader } from '@x402/core/http'
import type { PaymentRequired } from '@x402/core/types'
import { type Hex, USDC_BASE } from '../../core/payments/chain/asset.ts'
import { type EntryChange, entry, entryV1 } from '../stories/attacks/sellers.ts'

/** What a seller is asked to sell: at which price, and to whom it is honestly paid. */
export interface Ware {
  readonly url: string
  readonly amount: bigint
  readonly payTo: Hex
  /** Another wallet of the same seller. */
  readonly second: Hex
  /** Wallets of the hub, which it must never pay. */
  readonly house: readonly Hex[]
}

interface Offered {
  readonly entries?: readonly object[]
  readonly resource?: object
  readonly extensions?: object
}

const good = ({ amount, payTo }: Ware): EntryChange => ({ amount: String(amount), payTo })
const one = (ware: Ware, change: EntryChange): Offered => ({
  entries: [entry({ ...good(ware), ...change })],
})

/** Offers that are paid, the last two with care. */
const FAIR: Readonly<Record<string, (ware: Ware) => Offered>> = {
  'version 2': (ware) => one(ware, {}),
  'the cheapest is not the first': (ware) => ({
    entries: [
      entry({ ...good(ware), amount: String(ware.amount + 1n) }),
      entry({ ...good(ware), amount: '1', network: 'eip155:1' }),
      entry(good(ware)),
    ],
  }),
  'a day of time': (ware) => one(ware, { maxTimeoutSeconds: 86_400 }),
  'another wallet': (ware) => one(ware, { payTo: ware.second }),
}

/** Offers that must not be paid. */
const FOUL: Readonly<Record<string, (ware: Ware) => Offered>> = {
  'wrong asset': (ware) => one(ware, { asset: '0x600d000000000000000000000000000000900d00' }),
  'wrong network': (ware) => one(ware, { network: 'eip155:84532' }),
  'wrong scheme': (ware) => one(ware, { scheme: 'upto' }),
  'wrong name': (ware) => one(ware, { extra: { name: 'Gold', version: '2' } }),
  'wrong version of the token': (ware) => one(ware, { extra: { name: 'USD Coin', version: '1' } }),
  Permit2: (ware) => one(ware, { extra: { ...entry().extra, assetTransferMethod: 'permit2' } }),
  'above the cap': (ware) => one(ware, { amount: '1000001' }),
  'above the maximum': (ware) => one(ware, { amount: '99999' }),
  '18 decimals': (ware) => one(ware, { amount: `${ware.amount}000000000000` }),
  dollars: (ware) => one(ware, { amount: '0.02' }),
  'a number': (ware) => one(ware, { amount: 20_000 }),
  'less than nothing': (ware) => one(ware, { amount: '-20000' }),
  'two amounts': (ware) => one(ware, { maxAmountRequired: '900000' }),
  'own treasury': (ware) => one(ware, { payTo: ware.house[0]! }),
  'own spend wallet': (ware) => one(ware, { payTo: ware.house[1]!.toLowerCase() }),
  'nobody to pay': (ware) => one(ware, { payTo: `0x${'00'.repeat(20)}` }),
  'a decade of time': (ware) => one(ware, { maxTimeoutSeconds: 315_360_000 }),
  'another host': (ware) => ({ ...one(ware, {}), resource: { url: 'http://bank.test/' } }),
  'an extension': (ware) => ({
    ...one(ware, {}),
    extensions: { 'payment-identifier': { info: { required: true } } },
  }),
}

/** Answers to an unpaid request that are no offers at all. */
const NONE: Readonly<Record<string, (response: ServerResponse) => unknown>> = {
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
  'elsewhere at once': (response) => response.writeHead(302, { location: '/other' }).end(),
  'no answer at once': (response) => response.destroy(),
}

export const GOOD_OFFERS = ['version 1', ...Object.keys(FAIR)]
export const BAD_OFFERS = [...Object.keys(FOUL), ...Object.keys(NONE)]

/** Answers a request that brought no payment. */
export function offer(name: string, ware: Ware, response: ServerResponse): void {
  const none = NONE[name]
  if (none) return void none(response)
  if (name === 'version 1') return offerV1(ware, response)
  const offered = (FAIR[name] ?? FOUL[name])!(ware)
  const { entries: accepts, resource = { url: ware.url }, extensions } = offered
  const required = { x402Version: 2, resource, accepts, ...(extensions && { extensions }) }
  const header = encodePaymentRequiredHeader(required as unknown as PaymentRequired)
  response.writeHead(402, { 'payment-required': header }).end('{}')
}

function offerV1({ amount, payTo, url }: Ware, response: ServerResponse): void {
  const accepts = [entryV1({ maxAmountRequired: String(amount), payTo, resource: url })]
  response.writeHead(402, { 'content-type': 'application/json' })
  response.end(JSON.stringify({ x402Version: 1, error: 'pay', accepts }))
}

/** The terms by which a payment of version 1 is settled. */
export const requirementV1 = ({ amount, payTo }: Ware) =>
  entry({ amount: String(amount), payTo, network: USDC_BASE.network })
