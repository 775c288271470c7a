import { expect } from 'chai'
import { usd } from '../../core/money.ts'
import type { Plugin } from '../../core/plugin/index.ts'
import { type ApiResponse, ask, type RequestOptions } from './ask.ts'
import { eventually } from './eventually.ts'
import type { TestAgent, TestHub } from './hub.ts'
import { openReceiver, type Receiver, type Responder } from './receiver.ts'
import { useHub } from './suite.ts'

export type Json = Readonly<Record<string, unknown>>

/** Webhook with its receiving path and secret. */
export interface Hook {
  readonly id: string
  readonly secret: string
  readonly path: string
}

/** Starts a hub and a receiver, and creates a new agent with ten dollars before each test. */
export function useWebhooks(plugins: readonly Plugin[] = []): WebhookFixture {
  let receiver: Receiver
  const hub = useHub(async () => {
    receiver = await openReceiver()
    const names = ['receiver.test', 'other.test'].map((name) => [name, receiver.port] as const)
    return { plugins, config: { sandboxHosts: new Map(names), jobs: true } }
  })
  after(() => receiver.close())
  let ada: TestAgent
  beforeEach(async () => {
    ada = await hub().agent()
    await hub().credit(ada.keyId, usd('10'))
  })
  return new WebhookFixture(
    hub,
    () => receiver,
    () => ada,
  )
}

/** Webhooks of the current agent, through the hub's API. */
export class WebhookFixture {
  readonly hub: () => TestHub
  readonly receiver: () => Receiver
  readonly ada: () => TestAgent
  #paths = 0

  constructor(hub: () => TestHub, receiver: () => Receiver, ada: () => TestAgent) {
    this.hub = hub
    this.receiver = receiver
    this.ada = ada
  }

  api(path: string, question: RequestOptions = {}, key = this.ada().apiKey): Promise<ApiResponse> {
    return ask(this.hub().url, `/v1/webhooks${path}`, { key, ...question })
  }

  newPath(): string {
    return `/hook-${++this.#paths}`
  }

  /** Adds a webhook on a new path with the given response. */
  async add(events: readonly string[], answering?: Responder): Promise<Hook> {
    const path = this.newPath()
    if (answering) this.receiver().answer(path, answering)
    const url = `http://receiver.test:${this.receiver().port}${path}`
    const { status, body, text } = await this.api('', { body: { url, events } })
    expect(status, text).to.equal(201)
    const { webhook_id: id, secret } = body as { webhook_id: string; secret: string }
    return { id, secret, path }
  }

  /** Sends a test event. @returns the id of the event */
  async test({ id }: Hook): Promise<string> {
    const { status, body } = await this.api(`/${id}/test`, { method: 'POST' })
    expect(status).to.equal(202)
    return String(body['event_id'])
  }

  async log({ id }: Hook): Promise<Json[]> {
    return (await this.api(`/${id}/deliveries`)).body['data'] as Json[]
  }

  /** Returns the newest delivery after its attempt has finished. */
  async tried(hook: Hook): Promise<Json> {
    await eventually(async () => (await this.log(hook))[0]?.['last_attempt'] !== null)
    return (await this.log(hook))[0]!
  }

  /** Makes the next attempt due now. */
  async again({ id }: Hook): Promise<void> {
    await this.hub().hub.pool.query(
      'UPDATE hub.webhook_delivery SET next_at = now(), tried_at = NULL WHERE webhook = $1',
      [id],
    )
  }

  /** Returns the webhook as listed by the API. */
  async shown({ id }: Hook): Promise<Json | undefined> {
    const { body } = await this.api('')
    return (body['data'] as Json[]).find(({ webhook_id }) => webhook_id === id)
  }

  /** Returns the number of events received on the webhook's path so far. */
  arrived({ path }: Hook): number {
    return this.receiver().notices.filter((notice) => notice.path === path).length
  }
}

export const refused = ({ status, body }: ApiResponse, expected: number, code: string): void => {
  expect([status, body['code']]).to.deep.equal([expected, code])
}
