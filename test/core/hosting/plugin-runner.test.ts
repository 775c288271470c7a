import { expect } from 'chai'
import { describeService } from '../../../core/hosting/encode.ts'
import type { IsolatedPlugin } from '../../../core/hosting/isolated-plugin.ts'
import { serviceOf } from '../../../core/hosting/isolated-service.ts'
import { MESSAGE_MAX } from '../../../core/hosting/limits.ts'
import { PluginRunner } from '../../../core/hosting/plugin-runner.ts'
import { readMessage } from '../../../core/hosting/wire.ts'
import { type AnyService, micros } from '../../../core/plugin/index.ts'
import { eventually } from '../../support/eventually.ts'

const WORDY = new URL('./plugins/wordy.ts', import.meta.url)
const DECLARES_MUCH = new URL('./plugins/declares-much.ts', import.meta.url)

type Message = Readonly<Record<string, unknown>> & { readonly is: string }

describe('the declaration of a plugin', () => {
  it('reaches the hub with every member of its endpoints', () => {
    const endpoint = {
      summary: 'Searches.',
      price: micros(1_000n),
      input: { json: { type: 'object' } },
      output: { json: { type: 'object' } },
      query: ['tags'],
      styles: { tags: { name: 'tag', style: 'pipeDelimited', explode: false } },
      headers: ['accept'],
      deadlineSeconds: 9,
      streams: true,
      prepaid: true,
    } as const
    const about = { slug: 'search', name: 'Search', category: 'data', summary: '', provider: 'p' }
    const endpoints = { 'POST /search': { ...endpoint, handle: () => ({}) } }
    const declared = describeService({ ...about, endpoints } as unknown as AnyService)
    const message = readMessage(JSON.stringify({ is: 'opened', declared }))
    if (message.is !== 'opened') throw new Error(message.is)
    const service = serviceOf(message.declared, {} as IsolatedPlugin)
    expect(service.endpoints['POST /search']).to.deep.include(endpoint)
  })

  it('is refused if one of its schemas is none, or would let every value pass', () => {
    for (const input of [{ type: 5 }, { type: 'object', $async: true }, { $schema: 'urn:own' }]) {
      const endpoints = { 'POST /do': { summary: 'Does it.', price: { fixed: '1' }, input } }
      const about = { slug: 'a', name: 'A', category: 'data', summary: 'Does it.', provider: 'p' }
      const declared = { ...about, endpoints, schedules: {}, hasIsListed: false }
      const read = () => readMessage(JSON.stringify({ is: 'opened', declared }))
      expect(read, JSON.stringify(input)).to.throw(/POST \/do.input/)
      Object.assign(endpoints['POST /do'], { input: { type: 'object' } })
      expect(read).not.to.throw()
    }
  })
})

describe('a plugin that sends oversized messages', () => {
  /** Opens a plugin. Returns its messages to the hub, and a function to call it. */
  const open = async (entry: URL) => {
    const messages: Message[] = []
    const inside = new PluginRunner((text) => {
      expect(Buffer.byteLength(text)).to.be.at.most(MESSAGE_MAX)
      messages.push(JSON.parse(text) as Message)
    })
    const tell = (message: object): void => inside.receive(JSON.stringify(message))
    const folder = new URL('.', entry).pathname
    const about = { now: 0, sandbox: true, secrets: {}, injected: ['http'] }
    tell({ do: 'open', entry: entry.href, folder, ...about })
    await eventually(() => messages.length > 0)
    const call = (id: number, path: string): void => {
      const input = { id: String(id), input: {}, payer: 'nobody', terms: null }
      tell({ do: 'handle', id, route: `POST /${path}`, call: input })
    }
    return { messages, call }
  }

  it('is refused if its declaration is too large', async () => {
    const { messages } = await open(DECLARES_MUCH)
    expect(messages[0]).to.include({ is: 'refused' })
  })

  it('fails the call if its result is too large in bytes', async () => {
    const { messages, call } = await open(WORDY)
    call(1, 'characters')
    await eventually(() => messages.length > 1)
    expect(messages[1]).to.include({ is: 'failed', id: 1 })
  })

  it('gets the error of an oversized request itself, without affecting other calls', async () => {
    const { messages, call } = await open(WORDY)
    call(0, 'waits')
    call(1, 'asks') // its first request has the id of the first call
    await eventually(() => messages.length > 1)
    expect(messages.slice(1)).to.have.length(1)
    expect(messages[1]).to.include({ is: 'failed', id: 1 })
    expect(JSON.stringify(messages[1])).to.include('the request exceeds the maximum size')
  })

  it('logs the beginning of a long line', async () => {
    const { messages, call } = await open(WORDY)
    call(1, 'logs')
    await eventually(() => messages.length > 2)
    expect(messages[1]).to.include({ is: 'log' })
    expect(String(messages[1]!['message'])).to.match(/^x{100,}$/)
  })
})
