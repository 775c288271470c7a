import { randomUUID } from 'node:crypto'
import { usd } from '../../../core/money.ts'
import type { Hex } from '../../../core/payments/chain/asset.ts'
import { readPayment } from '../../../core/payments/receiving/payment.ts'
import { jobs } from '../../../jobs/jobs.ts'
import { reconcileChain } from '../../../jobs/reconcile-chain.ts'
import type { DeliveryJson } from '../../../server/rest/account/webhook-deliveries.ts'
import { callTool } from '../../server/mcp/ask.ts'
import { type ApiResponse, ask, payFor } from '../../support/ask.ts'
import { PRICE } from '../counted-service.ts'
import type { Dependency, Fixture } from './fixture.ts'

/** Result of a request at any entry point. */
export interface Outcome {
  readonly ok: boolean
  /** Code of the problem. */
  readonly code?: string | undefined
  /** State of a payment to a seller, if one was sent. */
  readonly payment?: string | undefined
  readonly charged: bigint
  readonly isProblem: boolean
  readonly advice?: string
  readonly retryable?: boolean
  readonly text: string
}

/** Request whose repetitions have one effect. */
export interface PreparedRequest {
  readonly send: () => Promise<Outcome>
  /** USDC that its payer sends, in microdollars. */
  readonly usdc?: bigint
  /** Nonce of the payment. */
  readonly nonce?: Hex
  /** Change of the credits of the agent. */
  readonly credits?: bigint
}

/** Request that needs dependencies. */
export interface EntryPoint {
  readonly name: string
  readonly uses: readonly Dependency[]
  prepare(fixture: Fixture): Promise<PreparedRequest>
}

const BOUGHT = usd('6')
const TOPUP = usd('5')
const EXTERNAL_PRICE: bigint = usd('0.01')
const WORK_PRICE: bigint = PRICE
const WORK = { path: '/proxy/counted/work', body: {} }
const PURCHASE = { path: '/v1/credits/purchase', body: { amount_microdollars: Number(BOUGHT) } }

/** Reads a response of REST or the proxy. */
function readResponse({ status, headers, body, text }: ApiResponse): Outcome {
  const payment = body['payment'] as { readonly state?: string } | undefined
  return {
    ok: status === 200 || status === 201,
    code: body['code'] as string | undefined,
    payment: payment?.state,
    charged: BigInt(Number(body['charged_microdollars'] ?? 0)),
    isProblem: headers['content-type'] === 'application/problem+json' && body['status'] === status,
    advice: String(body['advice']),
    retryable: body['retryable'] === true,
    text,
  }
}

/** Posts JSON with an x402 payment that is signed now. */
async function paidRequest(
  { eve }: Fixture,
  { url, path, body, key }: { url: string; path: string; body: object; key?: string },
): Promise<Pick<PreparedRequest, 'send' | 'nonce'>> {
  const send = (headers = {}) => ask(url, path, { method: 'POST', body, key, headers })
  const offered = await send()
  if (offered.status !== 402) throw new Error(`no offer: ${offered.text}`)
  const payment = await payFor(eve, url, offered)
  const { nonce } = readPayment(payment).payload.authorization
  return { nonce, send: async () => readResponse(await send({ 'payment-signature': payment })) }
}

/** Calls an MCP tool. */
async function callHub(
  { running, agent }: Fixture,
  tool: string,
  args: Readonly<Record<string, unknown>>,
): Promise<Outcome> {
  const called = await callTool(running, agent.apiKey, tool, args).catch((error: Error) => error)
  if (called instanceof Error) {
    const code = /"code":"(\w+)"/.exec(called.message)?.[1]
    const retryable = called.message.includes('"retryable":true')
    return { ok: false, code, charged: 0n, isProblem: true, retryable, text: called.message }
  }
  const { isError, data } = called
  const payment = data['payment'] as { readonly state?: string } | undefined
  return {
    ok: isError !== true,
    code: data['error'] as string | undefined,
    payment: payment?.state,
    charged: usd((data['charged_usd'] as string | undefined) ?? '0'),
    isProblem: typeof data['error'] === 'string',
    advice: String(data['next']),
    retryable: data['retryable'] === true,
    text: JSON.stringify(data),
  }
}

const keyed = (key: string, body: object) => ({
  key,
  body,
  headers: { 'idempotency-key': randomUUID() },
})

const weather = ({ sandbox }: Fixture): string => `${sandbox.sellerUrl}/weather?city=Oslo`

/** Runs a job, which reports failures by rejecting. */
type RunJob = (deps: Fixture['jobDeps'], stopping: AbortSignal) => unknown

/** Runs a job, or what it does when it is due. */
const job = (name: keyof typeof jobs, uses: readonly Dependency[], due?: RunJob): EntryPoint => ({
  name: `job ${name}`,
  uses,
  prepare: async ({ jobDeps }) => ({
    send: async () => {
      try {
        await (due ?? (jobs[name].run as RunJob))(jobDeps, new AbortController().signal)
        return { ok: true, charged: 0n, isProblem: false, text: '' }
      } catch (error) {
        const text = String(error)
        return { ok: false, code: 'job_failed', charged: 0n, isProblem: true, text }
      }
    },
  }),
})

const PAID: readonly EntryPoint[] = [
  {
    name: 'call without a key by x402',
    uses: ['node', 'database'],
    prepare: async (fixture) => {
      const { url } = fixture.running
      return { ...(await paidRequest(fixture, { url, ...WORK })), usdc: PRICE }
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

const FROM_CREDITS: readonly EntryPoint[] = [
  {
    name: 'call from credits',
    uses: ['database', 'redis', 'traces'],
    prepare: async ({ running, agent }) => {
      const request = keyed(agent.apiKey, {})
      const send = async () => readResponse(await ask(running.url, '/proxy/counted/work', request))
      return { send, credits: -WORK_PRICE }
    },
  },
  {
    name: 'MCP call from credits',
    uses: ['database', 'redis', 'traces'],
    prepare: async (fixture) => {
      const call = { service: 'counted', endpoint: 'POST /work', input: {} }
      const args = { ...call, idempotency_key: randomUUID() }
      return { send: () => callHub(fixture, 'hub_call', args), credits: -WORK_PRICE }
    },
  },
  {
    name: 'purchase from a seller',
    uses: ['seller', 'node', 'database'],
    prepare: async (fixture) => {
      const { running, agent } = fixture
      const request = keyed(agent.apiKey, { url: weather(fixture) })
      const send = async () => readResponse(await ask(running.url, '/proxy/external', request))
      return { send, credits: -EXTERNAL_PRICE }
    },
  },
  {
    name: 'MCP purchase from a seller',
    uses: ['seller', 'node'],
    prepare: async (fixture) => {
      const args = { url: weather(fixture), idempotency_key: randomUUID(), max_price_usd: '0.01' }
      const send = () => callHub(fixture, 'hub_call_external', args)
      return { send, credits: -EXTERNAL_PRICE }
    },
  },
  {
    name: 'purchase signed by a remote signer',
    uses: ['signer'],
    prepare: async (fixture) => {
      const { remote, agent } = fixture
      const request = keyed(agent.apiKey, { url: weather(fixture) })
      const send = async () => readResponse(await ask(remote.url, '/proxy/external', request))
      return { send, credits: -EXTERNAL_PRICE }
    },
  },
]

let mails = 0

const UNPAID: readonly EntryPoint[] = [
  {
    name: 'search by meaning',
    uses: ['embeddings', 'database'],
    prepare: async ({ running, agent }) => {
      const body = { query: `weather ${randomUUID()}` }
      const request = { key: agent.apiKey, body }
      return { send: async () => readResponse(await ask(running.url, '/v1/search', request)) }
    },
  },
  {
    name: 'sign-in by mail',
    uses: ['mail', 'database'],
    prepare: async ({ running, mailbox }) => {
      const email = `ada${++mails}@example.test`
      const request = { body: { email } }
      let sent: Outcome | undefined
      return {
        send: async () => {
          sent ??= await signIn(running.url, request)
          if (!sent.ok) return ([sent, (sent = undefined)] as const)[0]
          const isDelivered = mailbox.mails.some(({ to }) => to.includes(email))
          return { ...sent, ok: isDelivered, isProblem: true, code: 'not_delivered' }
        },
      }
    },
  },
  {
    name: 'event to a webhook',
    uses: ['webhook'],
    prepare: async ({ running, agent, hookId, receiver }) => {
      const seen = receiver.notices.length
      const path = `/v1/webhooks/${hookId}`
      let sent: ApiResponse | undefined
      return {
        send: async () => {
          const { apiKey: key } = agent
          sent ??= await ask(running.url, `${path}/test`, { method: 'POST', key })
          const { body } = await ask(running.url, `${path}/deliveries`, { key })
          const deliveries = body['data'] as readonly DeliveryJson[]
          const mine = deliveries.find((one) => one.event_id === sent?.body['event_id'])
          const isReceived = receiver.notices.slice(seen).some(({ path: at }) => at === '/hook')
          // A target that has sent status 200 has the event, however it ends its response.
          const ok = isReceived || mine?.last_attempt?.response_status === 200
          return { ...readResponse(sent), ok, isProblem: true, code: 'not_delivered' }
        },
      }
    },
  },
]

async function signIn(url: string, request: object): Promise<Outcome> {
  const response = await ask(url, '/v1/account/sign-in', request)
  return { ...readResponse(response), ok: response.status === 202 }
}

export const ENTRY_POINTS: readonly EntryPoint[] = [
  ...PAID,
  ...FROM_CREDITS,
  ...UNPAID,
  job('reconcile-chain', ['node'], reconcileChain),
  job('account-gas', ['node']),
  job('check-wallet-keys', ['node']),
  job('discover-transfers', ['node']),
  job('discover-indexes', ['index']),
  job('embed-documents', ['embeddings']),
]
