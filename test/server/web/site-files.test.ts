import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { request } from 'undici'
import { walletAppLinks } from '../../../server/web/pages/topup-purchase.ts'
import { ask } from '../../support/ask.ts'
import { useHub } from '../../support/suite.ts'

const run = promisify(execFile)
const ROOT = new URL('../../..', import.meta.url).pathname

describe('files of the site', () => {
  const hub = useHub({ config: { securityContact: 'mailto:security@hub.example' } })
  const home = mkdtempSync(join(tmpdir(), 'agenthub-download-'))
  after(() => rmSync(home, { recursive: true, force: true }))

  it('list the public pages for crawlers', async () => {
    const robots = await ask(hub().url, '/robots.txt')
    expect(robots.text).to.include('Disallow: /account\n').and.to.include('/sitemap.xml')
    const { text } = await ask(hub().url, '/sitemap.xml')
    for (const path of ['/', '/services', '/docs/agents', '/services/analysis']) {
      expect(text).to.include(`<loc>${hub().url}${path}</loc>`)
    }
    expect(text).to.not.include('/account')
  })

  it('name the contact for reports of vulnerabilities and when it expires', async () => {
    const { text } = await ask(hub().url, '/.well-known/security.txt')
    expect(text).to.match(/^Contact: mailto:security@hub\.example\nExpires: \d{4}-\d\d-\d\dT/)
  })

  it('have the icons that browsers and phones request', async () => {
    for (const [path, type] of [
      ['/favicon.ico', 'image/x-icon'],
      ['/apple-touch-icon.png', 'image/png'],
    ] as const) {
      const { statusCode, headers, body } = await request(`${hub().url}${path}`)
      expect([statusCode, headers['content-type']]).to.deep.equal([200, type])
      expect((await body.arrayBuffer()).byteLength).to.be.within(500, 20_000)
    }
  })

  it('are linked from public pages, with a canonical address and a preview', async () => {
    const { text } = await ask(hub().url, '/services?type=native', {
      headers: { accept: 'text/html' },
    })
    expect(text).to.include(`<link rel="canonical" href="${hub().url}/services">`)
    expect(text).to.include('property="og:description" content="APIs of this hub')
    const topup = await ask(hub().url, '/topup', { headers: { accept: 'text/html' } })
    expect(topup.text).to.not.include('canonical')
  })

  it('include the command line that the pages start', async () => {
    const { text } = await ask(hub().url, '/', { headers: { accept: 'text/html' } })
    const [, address = ''] = /npx (http\S+\.tgz) register/.exec(text) ?? []
    const { body } = await request(address)
    const archive = join(home, 'agenthub.tgz')
    writeFileSync(archive, Buffer.from(await body.arrayBuffer()))
    const folder = join(home, 'node_modules/agenthub')
    mkdirSync(folder, { recursive: true })
    await run('tar', ['xzf', archive, '--strip-components=1', '-C', folder])
    const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
      readonly dependencies: Readonly<Record<string, string>>
      readonly bin: Readonly<Record<'agenthub', string>>
    }
    for (const name of Object.keys(manifest.dependencies)) {
      mkdirSync(dirname(join(home, 'node_modules', name)), { recursive: true })
      symlinkSync(join(ROOT, 'node_modules', name), join(home, 'node_modules', name))
    }
    const env = { PATH: process.env['PATH'] ?? '', HOME: home, HUB_BASE_URL: hub().url }
    const main = join(folder, manifest.bin.agenthub)
    const say = (...words: string[]) => run(process.execPath, [main, ...words], { env, cwd: home })
    await say('register')
    const { stdout } = await say('call', 'analysis/sentiment', '-d', '{"text":"Lovely staff."}')
    expect(stdout).to.include('positive')
    const client = "import { HubClient } from 'agenthub/client'; console.log(typeof HubClient)"
    const shown = await run(process.execPath, ['--input-type=module', '-e', client], { cwd: home })
    expect(shown.stdout).to.equal('function\n')
    const other = await request(`${hub().url}/downloads/agenthub.tgz`)
    expect(Buffer.from(await other.body.arrayBuffer()).equals(readFileSync(archive))).to.equal(true)
  })

  it('include a page for the service of external calls', async () => {
    const headers = { accept: 'text/html' }
    const { status, headers: sent } = await ask(hub().url, '/services/external', { headers })
    expect([status, sent['location']]).to.deep.equal([303, '/services?type=external'])
    expect((await ask(hub().url, '/services/nothing', { headers })).status).to.equal(404)
  })

  it('open a top-up in the browsers of wallet apps', () => {
    const links = walletAppLinks('https://hub.example/topup?key_id=key_1&amount_usd=5')
    expect(links['MetaMask']).to.equal(
      'https://metamask.app.link/dapp/hub.example/topup?key_id=key_1&amount_usd=5',
    )
    expect(links['Coinbase Wallet']).to.include('cb_url=https%3A%2F%2Fhub.example%2Ftopup%3F')
  })
})
