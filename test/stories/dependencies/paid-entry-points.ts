import { randomUUID } from 'node:crypto'
import { Challenge, Credential } from 'mppx'
import { evm } from 'mppx/client'
import { usd } from '../../../core/money.ts'
import type { Hex } from '../../../core/payments/chain/asset.ts'
import { readPayment } from '../../../core/payments/receiving/payment.ts'
import { callTool } from '../../server/mcp/ask.ts'
import { type ApiResponse, ask, payFor } from '../../support/ask.ts'
import { authorizationOf } from '../../support/authorization.ts'
import { PRICE } from '../counted-service.ts'
import { callHub, type EntryPoint, type PreparedRequest, readResponse } from './entry-point.ts'
import { CACHED_PAGE_PRICE, type Fixture } from './fixture.ts'

const BOUGHT = usd('6')
const TOPUP = usd('5')
const WORK = { path: '/proxy/counted/work', body: {} }
const PURCHASE = { path: '/v1/credits/purchase', body: { amount_microdollars: Number(BOUGHT) } }

interface Order {
  readonly url: string
  readonly path: string
  /** Undefined for a GET. */
  readonly body?: object
  readonly key?: string
}

/** Sends an order without a payment, and returns its offer and how to send it again. */
async function requestOffer({ url, path, body, key }: Order) {
  const send = (headers = {}) => ask(url, path, { body, key, headers })
  const offered = await send()
  if (offered.status !== 402) throw new Error(`no offer: ${offered.text}`)
  return { offered, send }
}

/** Sends an order with an x402 payment that is signed now. */
async function paidRequest(
  { eve }: Fixture,
  order: Order,
): Promise<Pick<PreparedRequest, 'send' | 'nonce'>> {
  const { offered, send } = await requestOffer(order)
  const payment = await payFor(eve, order.url, offered)
  const { nonce } = authorizationOf(readPayment(payment).payload)
  return { nonce, send: async () => readResponse(await send({ 'payment-signature': payment })) }
}

/** Sends an order with a credential of MPP that is signed now. */
async function mppRequest({ eve }: Fixture, order: Order) {
  const { offered, send } = await requestOffer(order)
  const currencies = [evm.assets.base.USDC]
  const challenge = Challenge.deserialize(String(offered.headers['www-authenticate']))
  const context = { challenge: challenge as never, context: {} }
  const authorization = await evm.charge({ account: eve, currencies }).createCredential(context)
  const { payload } = Credential.deserialize(authorization)
  const { nonce } = payload as { readonly nonce: Hex }
  return { nonce, send: async () => readResponse(await send({ authorization })) }
}

/** Calls a tool without credits, with an x402 payment in `_meta` that is signed now. */
async function mcpRequest(fixture: Fixture): Promise<Pick<PreparedRequest, 'send' | 'nonce'>> {
  const args = { service: 'counted', endpoint: 'POST /work', input: {} }
  const { structuredContent: offer } = await callTool(
    fixture.running,
    fixture.poor.apiKey,
    'hub_call',
    args,
  )
  const header = Buffer.from(JSON.stringify(offer)).toString('base64')
  const offered: ApiResponse = {
    status: 402,
    headers: { 'payment-required': header },
    body: {},
    text: '',
  }
  const signed = await payFor(fixture.eve, 'mcp://tool', offered)
  const payment = JSON.parse(Buffer.from(signed, 'base64').toString()) as object
  const { nonce } = authorizationOf(readPayment(signed).payload)
  return { nonce, send: () => callHub(fixture, 'hub_call', args, payment) }
}

/** Requests that are paid on the chain. */
export const PAID: readonly EntryPoint[] = [
  {
    name: 'call without a key by x402',
    uses: ['node', 'database'],
    prepare: async (fixture) => {
      const { url } = fixture.running
      return { ...(await paidRequest(fixture, { url, ...WORK })), usdc: PRICE }
    },
  },
  {
    name: 'call without a key by MPP',
    uses: ['node', 'database'],
    prepare: async (fixture) => {
      const { url } = fixture.running
      return { ...(await mppRequest(fixture, { url, ...WORK })), usdc: PRICE }
    },
  },
  {
    name: 'MCP call by x402',
    uses: ['node', 'database'],
    prepare: async (fixture) => ({ ...(await mcpRequest(fixture)), usdc: PRICE }),
  },
  {
    name: 'page of a domain by x402',
    uses: ['node', 'database'],
    prepare: async (fixture) => {
      const { url } = fixture.running
      const path = fixture.pagePath
      return { ...(await paidRequest(fixture, { url, path })), usdc: CACHED_PAGE_PRICE }
    },
  },
  {
    name: 'purchase of credits',
    uses: ['node', 'database'],
    prepare: async (fixture) => {
      const { url } = fixture.running
      const order = { url, ...PURCHASE, key: fixture.agent.apiKey }
      return { ...(await paidRequest(fixture, order)), usdc: BOUGHT, credits: BOUGHT }
    },
  },
  {
    name: 'top-up by the id of a key',
    uses: ['node'],
    prepare: async (fixture) => {
      const order = { key_id: fixture.agent.keyId, amount_microdollars: Number(TOPUP) }
      const body = { ...order, purchase_id: `pur_${randomUUID()}` }
      const { url } = fixture.running
      const sent = await paidRequest(fixture, { url, path: '/v1/topups', body })
      return { ...sent, usdc: TOPUP, credits: TOPUP }
    },
  },
  {
    name: 'call by x402 through a remote facilitator',
    uses: ['facilitator'],
    prepare: async (fixture) => {
      const { url } = fixture.remote
      return { ...(await paidRequest(fixture, { url, ...WORK })), usdc: PRICE }
    },
  },
  {
    name: 'purchase through a remote facilitator',
    uses: ['facilitator'],
    prepare: async (fixture) => {
      const { url } = fixture.remote
      const order = { url, ...PURCHASE, key: fixture.agent.apiKey }
      return { ...(await paidRequest(fixture, order)), usdc: BOUGHT, credits: BOUGHT }
    },
  },
]
