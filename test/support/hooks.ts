import { expect } from 'chai'
import { usd } from '../../core/money.ts'
import type { Plugin } from '../../core/plugin/index.ts'
import { ask, type Question, type Told } from './ask.ts'
import { eventually } from './eventually.ts'
import type { TestAgent, TestHub } from './hub.ts'
import { type Answering, openReceiver, type Receiver } from './receiver.ts'
import { useHub } from './suite.ts'

export type Json = Readonly<Record<string, unknown>>

/** A webhook, the path where it arrives, and its secret. */
export interface Hook {
  readonly id: string
  readonly secret: string
  readonly path: string
}

/** A hub, a receiver, and before each test a new agent with ten dollars. */
export function useHooks(plugins: readonly Plugin[] = []): Hooks {
  let receiver: Receiver
  const hub = useHub(async () => {
    receiver = await openReceiver()
    const names = ['receiver.test', 'other.test'].map((name) => [name, receiver.port] as const)
    return { plugins, config: { sandboxHosts: new Map(names) } }
  })
  after(() => receiver.close())
  let ada: TestAgent
  beforeEach(async () => {
    ada = await hub().agent()
    await hub().credit(ada.keyId, usd('10'))
  })
  return new Hooks(
    hub,
    () => receiver,
    () => ada,
  )
}

/** Webhooks of the agent at hand, by the doors of the hub. */
export class Hooks {
  readonly hub: () => TestHub
  readonly receiver: () => Receiver
  readonly ada: () => TestAgent
  #paths = 0

  constructor(hub: () => TestHub, receiver: () => Receiver, ada: () => TestAgent) {
    this.hub = hub
    this.receiver = receiver
    this.ada = ada
  }

  api(path: string, question: Question = {}, key = this.ada().apiKey): Promise<Told> {
    return ask(this.hub().url, `/v1/webhooks${path}`, { key, ...question })
  }

  newPath(): string {
    return `/hook-${++this.#paths}`
  }

  /** A webhook at a path of its own, which answers as it is told. */
  async add(events: readonly string[], answering?: Answering): Promise<Hook> {
    const path = this.newPath()
    if (answering) this.receiver().answer(path, answering)
    const url = `http://receiver.test:${this.receiver().port}${path}`
    const told = await this.api('', { body: { url, events } })
    expect(told.status, told.text).to.equal(201)
    const { webhook_id: id, secret } = told.body as { webhook_id: string; secret: string }
    return { id, secret, path }
  }

  /** Presses the test button. @returns the id of the event */
  async test({ id }: Hook): Promise<string> {
    const { status, body } = await this.api(`/${id}/test`, { method: 'POST' })
    expect(status).to.equal(202)
    return String(body['event_id'])
  }

  async log({ id }: Hook): Promise<Json[]> {
    return (await this.api(`/${id}/deliveries`)).body['data'] as Json[]
  }

  /** The newest line of the log, once its attempt has come to its end. */
  async tried(hook: Hook): Promise<Json> {
    await eventually(async () => (await this.log(hook))[0]?.['last_attempt'] !== null)
    return (await this.log(hook))[0]!
  }

  /** Makes the next attempt come now. */
  async again({ id }: Hook): Promise<void> {
    await this.hub().hub.pool.query(
      'UPDATE hub.webhook_delivery SET next_at = now(), tried_at = NULL WHERE webhook = $1',
      [id],
    )
  }

  /** As the list shows it. */
  async shown({ id }: Hook): Promise<Json | undefined> {
    const { body } = await this.api('')
    return (body['data'] as Json[]).find(({ webhook_id }) => webhook_id === id)
  }

  /** What came to a path, after a while in which more could have come. */
  arrived({ path }: Hook): number {
    return this.receiver().notices.filter((notice) => notice.path === path).length
  }
}

export const refused = ({ status, body }: Told, expected: number, code: string): void => {
  expect([status, body['code']]).to.deep.equal([expected, code])
}
