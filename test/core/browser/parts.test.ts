import { PassThrough } from 'node:stream'
import { expect } from 'chai'
import { chromiumFlags } from '../../../core/browser/flags.ts'
import { isRedirect, renderCodeOf, toDocumentResponse } from '../../../core/browser/response.ts'
import { PipeTransport } from '../../../core/browser/transport.ts'
import { findOverCap, privateBytes } from '../../../core/browser/watchdog.ts'

const CAPS = { page: 100, browser: 1_000 }
const page = (pid: number, bytes: number) => ({ pid, bytes, isPage: true })

describe('the memory watchdog', () => {
  it('kills pages above their cap, and no other process', () => {
    const all = [page(1, 100), page(2, 101), page(3, 500), { pid: 4, bytes: 200, isPage: false }]
    expect(findOverCap(all, CAPS)).to.deep.equal([2, 3])
  })

  it('kills a browser above its cap', () => {
    const many = Array.from({ length: 11 }, (_, pid) => page(pid, 91))
    expect(findOverCap(many, CAPS)).to.equal('all')
  })

  it('counts private memory without shared files', () => {
    const status = 'VmRSS:\t  900 kB\nRssAnon:\t  300 kB\nRssFile:\t 500 kB\nRssShmem:\t 100 kB\n'
    expect(privateBytes(status)).to.equal(400 * 1_024)
    expect(privateBytes('')).to.equal(0)
  })
})

describe('the pipe transport of a browser', () => {
  const opened = () => {
    const [input, output] = [new PassThrough(), new PassThrough()]
    const transport = new PipeTransport({ input, output })
    const messages: string[] = []
    Object.assign(transport, { onmessage: (message: string) => messages.push(message) })
    return { transport, input, output, messages }
  }

  it('splits messages at NUL, in chunks of any size', async () => {
    const { transport, input, output, messages } = opened()
    const bytes = Buffer.from('{"a":"é"}\0{"b":2}\0{"c"')
    for (const byte of bytes) output.write(Buffer.of(byte))
    output.write(':3}\0')
    await new Promise(setImmediate)
    expect(messages).to.deep.equal(['{"a":"é"}', '{"b":2}', '{"c":3}'])
    transport.send('{}')
    expect(String(input.read())).to.equal('{}\0')
  })

  it('closes on an oversized message', async () => {
    const { transport, output, messages } = opened()
    const closed = new Promise<void>((resolve) => {
      Object.assign(transport, { onclose: resolve })
    })
    const mib = Buffer.alloc(1_048_576, 'x')
    for (let sent = 0; sent < 17; sent++) output.write(mib)
    await closed
    expect(messages).to.deep.equal([])
  })
})

describe('a document response', () => {
  const answer = (headers: Record<string, string>, status = 200) =>
    toDocumentResponse(
      'http://a.test/',
      status,
      Object.entries(headers).map(([name, value]) => ({ name, value })),
    )

  it('is displayed if it is HTML and not a download', () => {
    for (const type of ['text/html', 'Text/HTML; charset=x', 'application/xhtml+xml']) {
      expect(answer({ 'Content-Type': type }).isHtml, type).to.equal(true)
    }
    for (const type of ['text/plain', 'application/pdf', 'text/htmlx', 'image/svg+xml']) {
      expect(answer({ 'Content-Type': type }).isHtml, type).to.equal(false)
    }
    expect(answer({}).isHtml).to.equal(false)
    expect(answer({ 'content-type': 'text/html' }, 204).isHtml).to.equal(false)
    const kept = { 'content-type': 'text/html', 'content-disposition': 'Attachment; filename=x' }
    expect(answer(kept).isHtml).to.equal(false)
  })

  it('is a redirect only with a location', () => {
    expect(isRedirect(answer({ Location: '/b' }, 302))).to.equal(true)
    expect(isRedirect(answer({}, 302))).to.equal(false)
    expect(isRedirect(answer({ location: '/b' }, 200))).to.equal(false)
  })

  it('that failed has a code derived from Chromium’s error name', () => {
    const codes = {
      'net::ERR_CERT_AUTHORITY_INVALID': 'upstream_tls',
      'net::ERR_SSL_PROTOCOL_ERROR': 'upstream_tls',
      'net::ERR_CONNECTION_TIMED_OUT': 'upstream_timeout',
      'net::ERR_TUNNEL_CONNECTION_FAILED': 'upstream_unreachable',
      'net::ERR_EMPTY_RESPONSE': 'upstream_unreachable',
      'net::ERR_TOO_MANY_REDIRECTS': 'upstream_redirect',
      'net::ERR_RESPONSE_HEADERS_TOO_BIG': 'upstream_too_large',
      'net::ERR_CONTENT_DECODING_FAILED': 'upstream_error',
      'net::ERR_FAILED': 'render_failed',
    }
    for (const [text, code] of Object.entries(codes))
      expect(renderCodeOf(text), text).to.equal(code)
  })
})

describe('the flags of a browser', () => {
  it('route all traffic through the proxy', () => {
    const options = { profile: '/p', sharedMemory: true, proxyUrl: 'http://127.0.0.1:9' }
    const flags = chromiumFlags({ ...options, sandbox: true })
    expect(flags).to.include.members([
      '--proxy-server=http://127.0.0.1:9',
      '--proxy-bypass-list=<-loopback>',
      '--force-webrtc-ip-handling-policy=disable_non_proxied_udp',
      '--webrtc-ip-handling-policy=disable_non_proxied_udp',
      '--disable-quic',
      '--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1',
    ])
    expect(flags).not.to.include('--no-sandbox')
    expect(flags.filter((flag) => flag.startsWith('--remote-debugging'))).to.deep.equal([
      '--remote-debugging-pipe',
    ])
  })
})
