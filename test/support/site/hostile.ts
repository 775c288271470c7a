import type { Page } from './pages.ts'

const html = (body: string): Page => ({
  type: 'text/html; charset=utf-8',
  body: `<!doctype html><title>Hostile</title><body>${body}`,
})

/** Host names of this machine that a page may try. */
const HERE = ['127.0.0.1', 'localhost', '[::1]', '[::ffff:127.0.0.1]', '0.0.0.0', 'rebind.test']

/**
 * Page that tries every way to make a browser connect to a port of this machine under all its names
 * (A093). At the end it reports how many attempts visibly failed.
 */
export const evil = (port: number): Page => {
  const hosts = HERE.map((host) => `${host}:${port}`)
  const tags = hosts.flatMap((host) => [
    `<img src="http://${host}/img">`,
    `<script src="http://${host}/script"></script>`,
    `<link rel="stylesheet" href="http://${host}/style">`,
    `<link rel="prefetch" href="http://${host}/prefetch">`,
    `<link rel="preconnect" href="http://${host}">`,
    `<link rel="dns-prefetch" href="//${host}">`,
    `<iframe src="http://${host}/frame"></iframe>`,
    `<video src="http://${host}/video" preload="auto"></video>`,
    `<object data="http://${host}/object"></object>`,
    `<style>@font-face{font-family:f;src:url(http://${host}/font)}p{font-family:f}</style>`,
  ])
  return html(`<p id="told">waiting</p>${tags.join('\n')}<script>
    const hosts = ${JSON.stringify(hosts)}
    const failed = { fetch: 0, socket: 0, events: 0, worker: 0 }
    const told = []
    for (const host of hosts) {
      told.push(fetch('http://' + host + '/fetch', { mode: 'no-cors' })
        .catch(() => { failed.fetch++ }))
      const socket = new WebSocket('ws://' + host + '/socket')
      told.push(new Promise((done) => { socket.onerror = () => { failed.socket++; done() } }))
      const events = new EventSource('http://' + host + '/events')
      told.push(new Promise((done) => {
        events.onerror = () => { failed.events++; events.close(); done() }
      }))
      const code = 'fetch("http://' + host + '/worker").catch(() => postMessage(1))'
      const worker = new Worker(URL.createObjectURL(new Blob([code])))
      told.push(new Promise((done) => {
        worker.onmessage = worker.onerror = () => { failed.worker++; done() }
      }))
      navigator.sendBeacon('http://' + host + '/beacon', 'x')
      window.open('http://' + host + '/popup')
      new Image().src = 'http://' + host + '/image'
      new Audio('http://' + host + '/audio').load()
      const peer = new RTCPeerConnection({
        iceServers: ['stun', 'turn'].map((kind) => ({
          urls: kind + ':' + host, username: 'u', credential: 'c',
        })),
      })
      peer.createDataChannel('x')
      peer.createOffer().then((offer) => peer.setLocalDescription(offer))
      globalThis.WebTransport && new WebTransport('https://' + host).ready.catch(() => {})
    }
    Promise.all(told).then(() => setTimeout(() => {
      const told = document.getElementById('told')
      told.textContent = JSON.stringify(failed)
      told.className = 'done'
    }, 500))
  </script>`)
}

/** Pages that redirect to this machine or to another host (A094). */
export const leading = (port: number): Readonly<Record<string, Page>> => {
  const script = (code: string): Page => html(`<p>Here I am.</p><script>${code}</script>`)
  const targets = {
    inside: `http://127.0.0.1:${port}/secret`,
    elsewhere: 'http://stranger.test/plain',
    blank: 'about:blank',
  }
  const pages = Object.entries(targets).flatMap(([name, target]) => [
    [`/lead/location/${name}`, script(`location.href = '${target}'`)],
    [`/lead/late/${name}`, script(`setTimeout(() => { location = '${target}' }, 150)`)],
    [`/lead/refresh/${name}`, html(`<meta http-equiv="refresh" content="0;url=${target}">`)],
    [
      `/lead/form/${name}`,
      html(`<form id="f" action="${target}" method="post"></form>
      <script>f.submit()</script>`),
    ],
  ])
  return Object.fromEntries(pages)
}

/** Memory of the largest page that is allowed, in bytes. */
export const HEAVY_BYTES = 80_000_000

/** Pages that would exhaust memory, CPU or disk (A096). */
export const BOMBS: Readonly<Record<string, Page>> = {
  '/bomb/loop': html('<p>x</p><script>for (;;);</script>'),
  '/bomb/array': html(`<p>x</p><script>const all = []
    setInterval(() => { for (let i = 0; i < 40; i++) all.push(new Array(1e6).fill(i)) })</script>`),
  '/bomb/buffers': html(`<p>x</p><script>const all = []
    setInterval(() => { all.push(new Uint8Array(2e7).fill(1)) })</script>`),
  '/heavy': html(`<p>x</p><script>
    globalThis.all = new Uint8Array(${HEAVY_BYTES}).fill(1)</script>`),
  '/bomb/dom': html(`<p hidden id="p">x</p><script>setInterval(() => {
    for (let i = 0; i < 300; i++) {
      const child = p.appendChild(document.createElement('i'))
      child.append(String(i).repeat(30000))
    } })</script>`),
  '/bomb/popups': html(`<p>x</p><script>
    for (let i = 0; i < 50; i++) window.open('/plain?' + i)</script>`),
  '/bomb/alerts': html(`<p>x</p><script>
    onbeforeunload = () => 'stay'
    for (let i = 0; i < 20; i++) alert(prompt('a'.repeat(1e6)) ?? confirm('b'))</script>`),
  '/bomb/console': html(`<p>x</p><script>
    for (let i = 0; i < 20; i++) console.log('x'.repeat(1e6))</script>`),
  '/bomb/deep': html(`<p>x</p><script>let node = document.body
    for (let i = 0; i < 600; i++) { const d = document.createElement('div')
      node.append(d); node = d } node.append('the bottom')</script>`),
  '/bomb/long': html(`<p>x</p><script>
    const hidden = document.createElement('p')
    hidden.hidden = true
    hidden.append('word '.repeat(2e6))
    document.body.append(hidden)</script>`),
  '/bomb/reload': html('<p>x</p><script>location.reload()</script>'),
  '/bomb/names': html(`<p>Seen</p><form name="body"><input name="firstChild"><input
    name="attributes"><p>inside the form</p></form><form name="documentElement"></form>`),
}
