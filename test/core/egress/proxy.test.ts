import { once } from 'node:events'
import { request } from 'node:http'
import { connect } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { expect } from 'chai'
import { Proxy, type ProxyOptions } from '../../../core/egress/proxy.ts'
import { type Listening, listen, realSockets } from './fixture.ts'

const LARGE = Buffer.alloc(200_000, 'x')

describe('the filtering proxy', () => {
  realSockets()
  let site: Listening
  let canary: Listening
  before(async () => {
    canary = await listen()
    site = await listen((incoming, response) => {
      if (incoming.url === '/large') return void response.end(LARGE)
      if (incoming.url === '/moved') {
        const location = `http://127.0.0.1:${canary.port}/`
        return void response.writeHead(302, { location }).end()
      }
      response.writeHead(200, { 'alt-svc': 'h3=":443"', 'set-cookie': ['a=1', 'b=2'] })
      response.end(`host ${incoming.headers.host}`)
    })
  })
  after(() => Promise.all([site.stop(), canary.stop()]))

  const opened: Proxy[] = []
  const open = async (more: Partial<ProxyOptions> = {}) => {
    const proxy = await Proxy.open({
      sandboxHosts: new Map([['site.test', site.port]]),
      allowedPorts: [canary.port],
      resolver: async () => [{ address: '127.0.0.1', family: 4 }],
      maxBytes: 1_000_000,
      maxRequests: 10,
      ...more,
    })
    opened.push(proxy)
    return proxy
  }
  afterEach(() => Promise.all(opened.splice(0).map((proxy) => proxy.close())))

  /** Requests a URL through the proxy; undefined if the connection is cut off. */
  async function get(proxy: Proxy, path: string) {
    const { hostname, port } = new URL(proxy.url)
    const connectRequest = request({ hostname, port, path, agent: false })
    const answer = once(connectRequest.end(), 'response')
    try {
      const [response] = await answer
      return {
        status: response.statusCode,
        headers: response.headers,
        body: await buffer(response),
      }
    } catch {
      return undefined
    }
  }

  /** The first line of the answer to `CONNECT`, and what comes back from the other end. */
  async function tunnel(proxy: Proxy, target: string): Promise<string> {
    const { hostname, port } = new URL(proxy.url)
    const socket = connect({ host: hostname, port: Number(port) })
    socket.write(`CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\n\r\n`)
    const [start] = await Promise.race([once(socket, 'data'), once(socket, 'close')])
    if (!(start instanceof Buffer)) return 'cut off'
    socket.write('GET /in HTTP/1.1\r\nHost: site.test\r\nConnection: close\r\n\r\n')
    return Buffer.concat([start, await buffer(socket)]).toString()
  }

  it('passes requests on, without what belongs to a connection or leads around it', async () => {
    const proxy = await open()
    const answer = await get(proxy, 'http://site.test/a?b')
    expect(answer).to.include({ status: 200 })
    expect(String(answer?.body)).to.equal('host site.test')
    expect(answer?.headers['set-cookie']).to.deep.equal(['a=1', 'b=2'])
    expect(answer?.headers).not.to.have.property('alt-svc')
    expect(site.seen.at(-1)).to.include({ method: 'GET', url: '/a?b' })
    expect(proxy.bytes).to.equal(14)
  })

  it('tunnels to a host that is allowed, on the standard ports', async () => {
    const proxy = await open()
    for (const port of [80, 443]) {
      const reply = await tunnel(proxy, `site.test:${port}`)
      expect(reply)
        .to.match(/^HTTP\/1\.1 200 /)
        .and.to.include('host site.test')
    }
    expect(await tunnel(proxy, 'site.test:22')).to.equal('cut off')
    expect(proxy.pendingRequests).to.equal(0)
  })

  it('connects to no private address by name, address or redirect', async () => {
    const proxy = await open({ maxRequests: 100 })
    const { port } = canary
    for (const host of ['127.0.0.1', 'localhost', '[::1]', '[::ffff:7f00:1]', '0', 'rebind.test']) {
      expect(await get(proxy, `http://${host}:${port}/`), host).to.equal(undefined)
      expect(await tunnel(proxy, `${host}:${port}`), host).to.equal('cut off')
    }
    expect(proxy.faultOf('rebind.test')?.code).to.equal('destination_not_allowed')
    for (const odd of ['/relative', 'ftp://site.test/', '*', 'https://site.test/']) {
      expect(await get(proxy, odd), odd).to.equal(undefined)
    }
    const moved = await get(proxy, 'http://site.test/moved')
    expect(moved, 'returned, not followed').to.include({ status: 302 })
    expect(canary.connections()).to.equal(0)
  })

  it('cuts off all connections when the byte limit is exceeded', async () => {
    const proxy = await open({ maxBytes: LARGE.length + 1_000 })
    expect((await get(proxy, 'http://site.test/large'))?.body).to.have.length(LARGE.length)
    expect(proxy.overrun.aborted).to.equal(false)
    expect(await get(proxy, 'http://site.test/large')).to.equal(undefined)
    expect(proxy.overrun.aborted).to.equal(true)
    expect(await get(proxy, 'http://site.test/')).to.equal(undefined)
  })

  it('refuses requests beyond the limit', async () => {
    const proxy = await open({ maxRequests: 2 })
    expect(await get(proxy, 'http://site.test/')).to.include({ status: 200 })
    expect(await tunnel(proxy, 'site.test:80')).to.match(/^HTTP\/1\.1 200 /)
    expect(await get(proxy, 'http://site.test/')).to.equal(undefined)
  })
})
