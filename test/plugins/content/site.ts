import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { gzipSync } from 'node:zlib'
import type { paths, SiteHandler } from '../../core/catalog/fixture.ts'
import { article, type Body, html, TEXT } from './fixture.ts'

/** A page rendered by a script. */
const scriptedPage = (mark: string, afterMs: number, before = ''): string =>
  `<div id="app">${before}</div><script>setTimeout(() => {
    document.getElementById('app').innerHTML =
      ${JSON.stringify(`<div class="${mark}">${article('Written by a script', TEXT)}</div>`)}
  }, ${afterMs})</script>`

/** Shows state left by an earlier reader. */
const STATE = `<div id="app"></div><script>
  const before = [document.cookie, localStorage.getItem('mark')].filter(Boolean).join() || 'nothing'
  document.cookie = 'mark=1; max-age=3600'
  localStorage.setItem('mark', '1')
  document.getElementById('app').innerHTML =
    '<article class="ready"><h1>State</h1><p>seen before: ' + before + '</p></article>'
</script>`

/** Pages that exhaust memory or hold much of it. */
const MEMORY_LEAK = `<p>x</p><script>const all = []
  setInterval(() => { all.push(new Uint8Array(2e7).fill(1)) })</script>`
export const HEAVY_BYTES = 80_000_000
const HEAVY = `<p>x</p><script>globalThis.all = new Uint8Array(${HEAVY_BYTES}).fill(1)</script>`

/** A page that tries to reach a port of the hub's machine in every possible way. */
const probingPage = (port: number): string => {
  const inside = ['127.0.0.1', 'localhost', '[::ffff:127.0.0.1]', '0.0.0.0', '[::1]']
  const urls = JSON.stringify(inside.map((host) => `http://${host}:${port}/`))
  return `<div class="ready">${article('Spying', TEXT)}</div><script>
    for (const url of ${urls}) {
      for (const name of ['img', 'script', 'iframe', 'video', 'embed']) {
        document.body.append(Object.assign(document.createElement(name), { src: url }))
      }
      fetch(url, { mode: 'no-cors' }).catch(() => {})
      navigator.sendBeacon(url, 'x')
      new EventSource(url)
      new WebSocket(url.replace('http', 'ws'))
    }
  </script>`
}

/** Listens on a local port that no page may reach. */
export function useCanary() {
  let seen = 0
  const server = createServer((socket) => {
    seen += 1
    socket.destroy()
  })
  const canary = { port: 0, visits: () => seen }
  before(async () => {
    server.listen(0)
    await once(server, 'listening')
    canary.port = (server.address() as AddressInfo).port
  })
  after(() => server.close())
  return canary
}

/** The only paragraphs stand outside of the article. */
const DOUBTFUL = `<article><h1>Short</h1><div>${TEXT}</div><div>${TEXT}</div></article>
  <div class="newsletter"><p>Subscribe now, receive our letters, never miss any offer.
  We write each week, about things that matter, and you may leave whenever you want, without a
  reason.</p></div>`

const entry = (path: string) =>
  `<url><loc>http://owner.test${path}</loc><lastmod>2026-11-01</lastmod></url>`
const SITEMAP = `<?xml version="1.0"?><urlset>${[
  '/dear/report',
  '/members/letter',
  '/kept/story',
  '/quiet',
  '/free',
]
  .map(entry)
  .join('')}<url><loc>http://other.test/</loc></url></urlset>`
const SITEMAP_INDEX = `<?xml version="1.0"?><sitemapindex>
  <sitemap><loc>http://owner.test/sitemap-1.xml</loc></sitemap>
  <sitemap><loc>http://other.test/sitemap.xml</loc></sitemap></sitemapindex>`

const FAST = { fast: true, max_age_seconds: 0 }
const to =
  (location: string): SiteHandler =>
  (_, response) =>
    response.writeHead(302, { Location: location }).end()

/** Rules of the site's pages. */
export const RULES: readonly Body[] = [
  { path: '/**', price_microdollars: 1_000, ...FAST },
  { path: '/dear/**', price_microdollars: 50_000, ...FAST },
  { path: '/kept/**', price_microdollars: 4_000, cached_price_microdollars: 500, fast: true },
  { path: '/free', price_microdollars: 0, ...FAST },
  { path: '/free-for-people', price_microdollars: 0, ...FAST },
  { path: '/taste', price_microdollars: 2_000, preview_characters: 30, fast: true },
  { path: '/clean', price_microdollars: 1_000, exclude: ['.ad', '#more'], ...FAST },
  { path: '/app/**', price_microdollars: 3_000, wait_for: '.ready', max_age_seconds: 0 },
  { path: '/packed/**', price_microdollars: 1_000, ...FAST },
  { path: '/scripted/*', price_microdollars: 3_000, ...FAST },
  { path: '/members/**', action: 'deny' },
  { path: '/doubt/**', price_microdollars: 1_000, fast: true },
]

export const pagesBeside = (canary: { readonly port: number }): Parameters<typeof paths>[0] => ({
  '/': html(article('The frozen harbour', TEXT)),
  '/dear/report': html(article('A dear report', TEXT)),
  '/kept/story': html(article('A story', TEXT)),
  '/free': html(article('For nothing', TEXT)),
  '/free-for-people': html(article('For nothing', TEXT), '<meta name="robots" content="noai">'),
  '/taste': html(article('A taste', TEXT)),
  '/clean': html(`${article('Clean', TEXT)}<p class="ad">Buy now!</p><p id="more">More</p>`),
  '/members/letter': html(article('Secret', TEXT)),
  '/away': to('http://other.test/'),
  '/inside': to('/'),
  '/upgrade': to('/dear/report'),
  '/sneak': to('/members/letter'),
  '/round': to('/round'),
  '/sign-in': html('<form><p>Email <input><p>Password <input type="password"></form>'),
  '/gone': (_, response) => response.writeHead(410).end(),
  '/busy': (_, response) => response.writeHead(503, { 'Retry-After': '120' }).end(),
  '/app/busy': (_, response) => {
    const dates = ['Sat, 21 Nov 2026 10:00:00 GMT', 'Sat, 21 Nov 2026 09:58:30 GMT'] as const
    response.writeHead(429, { 'Retry-After': dates[0], Date: dates[1] }).end()
  },
  '/broken': (_, response) => response.writeHead(500).end('<p>Oops</p>'),
  '/image': (_, response) =>
    response.writeHead(200, { 'Content-Type': 'image/png' }).end(Buffer.from('89504e47', 'hex')),
  '/robots.txt': (_, response) =>
    response.end('User-agent: AgentHub\nDisallow: /quiet\n\nUser-agent: *\nDisallow: /'),
  '/quiet': html(article('Quiet', TEXT)),
  '/app/page': html(scriptedPage('ready', 300)),
  '/app/leaves': html(
    `${scriptedPage('ready', 0)}<script>location = 'http://other.test/'</script>`,
  ),
  '/app/fills': html(MEMORY_LEAK),
  '/app/heavy': html(HEAVY),
  '/app/missing': (_, response) => response.writeHead(404).end('<p>Nothing here</p>'),
  '/soft-404': html('<h1>Oops! That page can’t be found.</h1><p>Try a search.</p>'),
  '/scripted/page': html(scriptedPage('late', 0)),
  '/scripted/template': html(
    scriptedPage('late', 0, '<p>Good evening, $(csi.user.name): $(csi.user.messages) are new.</p>'),
  ),
  '/packed': (_, response) =>
    response
      .writeHead(200, { 'Content-Type': 'text/html', 'Content-Encoding': 'gzip' })
      .end(gzipSync(article('Packed', TEXT))),
  '/packed/bomb': (_, response) =>
    response
      .writeHead(200, { 'Content-Type': 'text/html', 'Content-Encoding': 'gzip' })
      .end(gzipSync(Buffer.alloc(50_000_000, 'x'))),
  '/app/state': html(STATE),
  '/doubt/page': html(DOUBTFUL, '<meta name="robots" content="noai, noimageai">'),
  '/sitemap.xml': (_, response) => response.end(gzipSync(SITEMAP_INDEX)),
  '/sitemap-1.xml': (_, response) => response.end(SITEMAP),
  '/app/spy': html(probingPage(canary.port)),
})
