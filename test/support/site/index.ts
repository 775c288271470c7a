import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net'
import { gzipSync } from 'node:zlib'
import { BAD_TLS } from '../../core/egress/badtls.ts'
import { GOOD_TLS } from '../../core/egress/goodtls.ts'
import { BOMBS, evil, leading } from './hostile.ts'
import { PAGES, type Page } from './pages.ts'

/** Test site on a port of 127.0.0.1, with a second port that must never be reached. */
export interface Site {
  readonly port: number
  readonly canary: Canary
  /** Host names of the site. */
  readonly hosts: ReadonlyMap<string, number>
  /** Requests so far, as `host path`. */
  readonly requests: string[]
  close(): Promise<void>
}

/** Listens for TCP and UDP on one port of every address of this machine. */
export interface Canary {
  readonly port: number
  /** Received connections and datagrams, in order. */
  readonly heard: string[]
  close(): Promise<void>
}

async function openCanary(): Promise<Canary> {
  const heard: string[] = []
  const sockets = new Set<Socket>()
  const tcp = createTcpServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    heard.push('tcp')
    socket.end('HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nsecret')
  })
  tcp.listen(0, '::')
  await once(tcp, 'listening')
  const { port } = tcp.address() as AddressInfo
  const udp = createSocket('udp6', () => heard.push('udp'))
  udp.bind(port, '::')
  await once(udp, 'listening')
  return {
    port,
    heard,
    async close() {
      for (const socket of sockets) socket.destroy()
      tcp.close()
      udp.close()
      await once(tcp, 'close')
    },
  }
}

export async function openSite(): Promise<Site> {
  const canary = await openCanary()
  const pages: Readonly<Record<string, Page>> = {
    ...PAGES,
    ...BOMBS,
    ...leading(canary.port),
    '/evil': evil(canary.port),
  }
  const requests: string[] = []
  const serve = (request: IncomingMessage, response: ServerResponse): void => {
    const { pathname } = new URL(request.url ?? '/', 'http://site.test')
    requests.push(`${request.headers.host} ${pathname}`)
    const page = pages[pathname]
    if (!page) return special(pathname, request, response, canary.port)
    response.setHeader('content-type', page.type)
    setTimeout(() => response.end(page.body), page.delayMs ?? 0)
  }
  const server = createServer(serve).listen(0, '127.0.0.1')
  const secure = createTlsServer(BAD_TLS, serve).listen(0, '127.0.0.1')
  secure.addContext('secure.test', GOOD_TLS)
  await Promise.all([once(server, 'listening'), once(secure, 'listening')])
  const { port } = server.address() as AddressInfo
  const { port: securePort } = secure.address() as AddressInfo
  const names = ['owner.test', 'www.owner.test', 'stranger.test'].map(
    (name) => [name, port] as const,
  )
  return {
    port,
    canary,
    requests,
    hosts: new Map([...names, ['secure.test', securePort], ['badtls.test', securePort]]),
    async close() {
      for (const each of [server, secure]) {
        each.closeAllConnections()
        each.close()
      }
      await canary.close()
    },
  }
}

/** Page that reports stored browser state and stores new state. */
const STATE = `<!doctype html><title>State</title><p id="told"></p><script>
  const told = [document.cookie, localStorage.getItem('who'), sessionStorage.getItem('who')]
  document.cookie = 'who=first; max-age=9999'
  localStorage.setItem('who', 'first')
  sessionStorage.setItem('who', 'first')
  navigator.serviceWorker?.register('/worker.js').catch(() => {})
  indexedDB.databases().then(async (all) => {
    indexedDB.open('first')
    const caught = await globalThis.caches?.keys().catch(() => []) ?? []
    document.getElementById('told').textContent =
      JSON.stringify([...told, all.length, caught.length])
  })
</script>`

function special(
  path: string,
  request: IncomingMessage,
  response: ServerResponse,
  canaryPort: number,
): void {
  const html = { 'content-type': 'text/html' }
  const moved = (location: string): void => void response.writeHead(302, { location }).end()
  if (path === '/moved/here') return moved('/plain')
  if (path === '/moved/www') return moved('http://www.owner.test/plain')
  if (path === '/moved/elsewhere') return moved('http://stranger.test/plain')
  if (path === '/moved/inside') return moved(`http://127.0.0.1:${canaryPort}/secret`)
  if (path === '/moved/round') return moved('/moved/round')
  if (path === '/missing') return void response.writeHead(404, html).end('<p>No such page.</p>')
  if (path === '/nothing') return void response.writeHead(204, html).end()
  if (path === '/cut') return void response.destroy()
  if (path === '/silent') return
  if (path === '/slow-body') return drip(response, 'x', 200)
  if (path === '/endless') return drip(response, `<!-- ${'-'.repeat(500_000)}`, 0)
  if (path === '/zip') {
    const headers = { ...html, 'content-encoding': 'gzip' }
    return void response.writeHead(200, headers).end(ZIPPED())
  }
  if (path === '/large.pdf') {
    return void response
      .writeHead(200, { 'content-type': 'application/pdf' })
      .end(Buffer.alloc(12_000_000))
  }
  if (path === '/download') {
    const headers = { ...html, 'content-disposition': 'attachment; filename="x.html"' }
    return void response.writeHead(200, headers).end('<p>kept</p>')
  }
  if (path === '/state') {
    const cookie = request.headers.cookie ?? ''
    return void response.writeHead(200, html).end(`${STATE}<p>sent: [${cookie}]</p>`)
  }
  response.writeHead(404, html).end('<p>Nothing here.</p>')
}

/** Half a gigabyte of one letter, compressed once. */
let zipped: Buffer | undefined
const ZIPPED = (): Buffer =>
  (zipped ??= Buffer.concat(Array.from({ length: 8 }, () => gzipSync(Buffer.alloc(64e6, 'a')))))

function drip(response: ServerResponse, text: string, everyMs: number): void {
  response.writeHead(200, { 'content-type': 'text/html' })
  const next = (): void => {
    if (response.destroyed) return
    if (everyMs === 0) return void response.write(text, () => setImmediate(next))
    response.write(text)
    setTimeout(next, everyMs)
  }
  next()
}
