import { randomUUID } from 'node:crypto'
import { usd } from '../../../core/money.ts'
import type { DeliveryJson } from '../../../server/rest/account/webhook-deliveries.ts'
import { type ApiResponse, ask } from '../../support/ask.ts'
import { PRICE } from '../counted-service.ts'
import { callHub, type EntryPoint, type Outcome, readResponse } from './entry-point.ts'
import type { Fixture } from './fixture.ts'
import { JOBS } from './job-entry-points.ts'
import { PAID } from './paid-entry-points.ts'

const EXTERNAL_PRICE: bigint = usd('0.01')
const WORK_PRICE: bigint = PRICE

const keyed = (key: string, body: object) => ({
  key,
  body,
  headers: { 'idempotency-key': randomUUID() },
})

const weather = ({ sandbox }: Fixture): string => `${sandbox.sellerUrl}/weather?city=Oslo`

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

export const ENTRY_POINTS: readonly EntryPoint[] = [...PAID, ...FROM_CREDITS, ...UNPAID, ...JOBS]
