import { once } from 'node:events'
import { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { parseEntry } from '../../../core/hosting/entry.ts'
import { type HostedPlugin, hostPlugin } from '../../../core/hosting/host-plugin.ts'
import { Injector } from '../../../core/hosting/injector.ts'
import { createLog } from '../../../core/log.ts'
import type { AnyEndpoint, AnyService, EgressResponse, Reply } from '../../../core/plugin/index.ts'
import { eventually } from '../../support/eventually.ts'
import { injectedHost } from '../../support/injected-host.ts'

const RELAYS = fileURLToPath(new URL('./plugins/relays.ts', import.meta.url))
const EMPTY = Buffer.alloc(0)

const responseWith = (stream: Readable): EgressResponse => ({
  status: 200,
  headers: { 'content-type': 'text/event-stream' },
  body: EMPTY,
  stream,
})

describe('a streamed HTTP response to an isolated plugin', () => {
  let source: Readable
  let signal: AbortSignal | undefined
  let hosted: HostedPlugin
  const start = async () => {
    const http = {
      request: async (request: { readonly signal?: AbortSignal | undefined }) => {
        signal = request.signal
        return responseWith(source)
      },
    }
    const deps = {
      host: { ...injectedHost, http },
      databaseUrl: '',
      log: createLog('silent'),
      passwordsOf: () => [''] as const,
    }
    const settings = { memoryMb: 128, node: '/bin/false', backOffMs: [0, 60_000] }
    return hostPlugin(parseEntry(`${RELAYS}=worker+http`), deps, settings)
  }
  before(async () => {
    hosted = await start()
  })
  after(() => hosted.close())

  const relay = async (given: Readable, ends = AbortSignal.timeout(30_000)): Promise<Readable> => {
    source = given
    const { endpoints } = hosted.declaration as AnyService
    const { handle } = (endpoints as Record<string, AnyEndpoint>)['POST /relay']!
    const input = { url: 'https://api.acme.com/events' }
    const call = {
      id: '1',
      input,
      payer: 'x',
      terms: null,
      charge: () => {},
      meter: () => true,
      signal: ends,
    }
    return ((await handle(call)) as Reply).body as Readable
  }

  it('arrives piece by piece, whole, whatever the size of its chunks', async () => {
    const live = new Readable({ read: () => undefined })
    const body = await relay(live)
    live.push('data: 1\n\n')
    const [first] = (await once(body, 'data')) as [Buffer]
    expect(String(first), 'before the end').to.equal('data: 1\n\n')
    const large = Buffer.alloc(300_000, 'x')
    live.push(large)
    live.push(null)
    const rest: Buffer[] = []
    for await (const piece of body) rest.push(piece as Buffer)
    expect(Buffer.concat(rest).equals(large)).to.equal(true)
    expect(Math.max(...rest.map(({ length }) => length))).to.be.at.most(65_536)
  })

  it('is read no faster than the caller reads, and ends when the caller goes', async () => {
    let produced = 0
    const endless = new Readable({
      read() {
        produced += 1
        this.push(Buffer.alloc(65_536))
      },
    })
    const body = await relay(endless)
    await once(body, 'readable')
    await eventually(() => produced > 1)
    const before = produced
    await new Promise((resolve) => setTimeout(resolve, 50))
    expect(produced).to.be.within(before, 20)
    body.destroy()
    await eventually(() => endless.destroyed)
    expect(signal?.aborted).to.equal(true)
  })

  it('breaks off where the other host does, without the reason', async () => {
    const broken = new Readable({ read: () => undefined })
    const body = await relay(broken)
    broken.push('begun')
    expect(String((await once(body, 'data'))[0])).to.equal('begun')
    const failed = once(body, 'error')
    body.resume()
    broken.destroy(new Error('connect ECONNRESET 10.1.2.3'))
    const [error] = (await failed) as [Error]
    expect(error.message).to.equal('the request failed')
  })

  it('breaks off, and is closed, when the plugin ends', async () => {
    const live = new Readable({ read: () => undefined })
    const body = await relay(live)
    const failed = once(body, 'error')
    body.resume()
    await hosted.close()
    expect(String((await failed)[0])).to.match(/the plugin/)
    await eventually(() => live.destroyed)
    hosted = await start()
  })

  it('counts among the 16 requests at once until it ends', async () => {
    const streams: Readable[] = []
    const request = async () => {
      const stream = new Readable({ read: () => undefined })
      streams.push(stream)
      return responseWith(stream)
    }
    const injector = new Injector({ ...injectedHost, http: { request } }, ['http'])
    const ask = (id: number) => {
      const wish = { url: 'https://api.acme.com/', method: 'GET', streams: true }
      return injector.answer({ is: 'request', id, capability: 'http', request: wish })
    }
    for (let id = 0; id < 16; id++) expect(await ask(id)).to.include({ streams: true })
    expect(await ask(16)).to.have.property('error', 'denied')
    injector.cancel(3)
    await once(streams[3]!, 'close')
    expect(await ask(17)).to.include({ streams: true })
    const twice = [injector.read(5), injector.read(5)]
    streams[5]!.push('a')
    expect(await Promise.all(twice)).to.deep.equal([{ base64: btoa('a') }, undefined])
    injector.cancelAll()
    expect(streams.every(({ destroyed }) => destroyed)).to.equal(true)
  })
})
