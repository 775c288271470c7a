import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import type { ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { usd } from '../../../core/money.ts'
import { paths, type TestSites } from '../../core/catalog/fixture.ts'
import { ask } from '../../support/ask.ts'
import { eventually } from '../../support/eventually.ts'
import type { TestHub } from '../../support/hub.ts'
import { PROOF, signInByOutbox } from './account-fixture.ts'
import { injectWallet } from './injected-wallet.ts'
import type { useTabs } from './tabs.ts'

const OPENAPI = {
  openapi: '3.1.0',
  info: { title: 'Tides', version: '1' },
  servers: [{ url: 'http://gateway.test/v2' }],
  paths: {
    '/tides': {
      get: {
        summary: 'Tides.',
        parameters: [{ name: 'harbor', in: 'query', required: true, schema: { type: 'string' } }],
        responses: { 200: { description: 'ok' } },
      },
    },
  },
}

/** Tests of provider pages, with and without scripts. */
export function sellerTests(
  hub: () => TestHub,
  tabs: ReturnType<typeof useTabs>,
  sites: () => TestSites,
): void {
  for (const scripts of [true, false]) {
    it(`verify and price a domain, ${scripts ? 'with' : 'without'} scripts`, async () => {
      const host = scripts ? 'shop.test' : 'other.test'
      const { cookie } = await signInByOutbox(hub(), `seller-${scripts}@example.test`)
      const tab = await tabs.open({ scripts, cookie })
      await tab.go('/provider/domains')
      await tab.send('add', { domain: `http://${host}`, slug: `sold-${scripts}` })
      const token = await tab.page.$eval('.steps li p:last-child code', (code) => code.textContent)
      await tab.send('verify')
      expect(await tab.text(), 'what the hub saw').to.include('File: The site answered 404.')
      await tab.send('verify')
      expect(await tab.text(), 'not the name of a header').to.match(/Wait for \d+ seconds/)
      sites().at(host, paths({ [PROOF]: (_, response) => response.end(String(token)) }))
      await hub().database.admin.query('UPDATE hub.domain SET tried_at = NULL')
      await tab.send('verify')
      expect(await tab.text()).to.include('Verified by file')

      await tab.send('rule', { path: '/blog/**' })
      expect(await tab.text(), 'a price is needed').to.include('Is required')
      await tab.send('rule', { price: '0.004' })
      const page = `http://${host}/blog/one`
      const priceOf = async () => {
        const path = `/proxy/sold-${scripts}/fetch?url=${encodeURIComponent(page)}&dry_run`
        return (await ask(hub().url, path)).body['price_microdollars']
      }
      expect(await priceOf()).to.equal(4_000)
      await tab.choose('/blog/**', 'a[href*="edit=rule"]')
      expect(await tab.dialog()).to.include('Edit /blog/**')
      await tab.send('rule', { price: 'much' })
      expect(await tab.dialog(), 'with the error').to.include('Enter dollars')
      await tab.send('rule', { price: '0.007', cached_price: '0.007' })
      expect(await priceOf()).to.equal(7_000)
      expect(await tab.text()).to.include('$0.007')
      await tab.send('sell')
      expect(await priceOf(), 'sales stopped').to.equal(undefined)
      await tab.send('rule', { path: '/**', price: '0.001' })
      await tab.send('rule', { path: '/blog/one', price: '0.02' })
      await tab.go(`${new URL(tab.page.url()).pathname}?url=${encodeURIComponent(page)}`)
      const order = await tab.page.$$eval('[aria-label=Prices] tbody tr', (rows) =>
        rows.map((row) => row.textContent.trim().replace(/\s+/g, ' ').split('everyone')[0]),
      )
      expect(order, 'the most specific first').to.deep.equal([
        '1/blog/one applies',
        '2/blog/**',
        '3/**',
      ])
      for (const rule of ['/blog/one', '/**', '/blog/**']) await tab.choose(rule, 'button')
      expect(await tab.text()).to.include('No prices yet')
      await tab.close()
    })

    it(`set a credential in dialogs, ${scripts ? 'with' : 'without'} scripts`, async () => {
      const slug = `dues-${scripts}`
      const { cookie } = await signInByOutbox(hub(), `${slug}@example.test`)
      const tab = await tabs.open({ scripts, cookie })
      await tab.go('/provider/services')
      await tab.send('import', { slug, openapi: JSON.stringify(SECURED) })
      await tab.send('price', { price: '0.01' })
      expect(await next(tab)).to.include('Set the upstream credential')
      await Promise.all([
        tab.page.waitForNavigation(),
        tab.page.click('[aria-current=step] a.button'),
      ])
      expect(await tab.dialog()).to.include('Header with a credential')
      const name = await tab.page.$eval('#secret-name', (field) => field.getAttribute('value'))
      expect(name, 'as the document names it').to.equal('X-Port-Key')
      expect(await tab.send('secret', { value: 'abc' })).to.include('Upstream credential saved')
      expect(await tab.page.$('dialog[open]'), 'closed').to.equal(null)
      const client = { client_id: 'dues', client_secret: 'def' }
      await tab.send('oauth2', { ...client, token_url: 'http://127.0.0.1:81/' })
      expect(await tab.dialog()).to.include('OAuth2 client credentials')
      expect(await tab.page.$('#oauth2-token_url-error'), 'with the error').not.to.equal(null)
      await tab.choose('GET /tides', 'a[href*="edit=endpoint"]')
      expect(await tab.dialog()).to.include('Edit GET /tides')
      await tab.send('endpoint', { summary: 'Tides of one harbor.' })
      expect(await tab.text()).to.include('Tides of one harbor.')
      await tab.close()
    })
  }
  it('set the payout address with a signature of the wallet', async () => {
    const { cookie } = await signInByOutbox(hub(), 'paid-out@example.test')
    const tab = await tabs.open({ cookie })
    const injected = await injectWallet(tab.page, hub().sandbox!.rpcUrl, { usdc: 0n })
    await tab.go('/provider/payouts')
    for (let step = 0; step < 2; step++) {
      await Promise.all([tab.page.waitForNavigation(), tab.page.click('[data-wallet] button')])
    }
    expect(await tab.text())
      .to.include('Payout address saved')
      .and.to.include(injected.address)
    expect(injected.signed).to.equal(1)
    await tab.close()
  })

  it('read a document from a file unless it is too large', async () => {
    const { cookie } = await signInByOutbox(hub(), 'from-file@example.test')
    const tab = await tabs.open({ cookie })
    await tab.go('/provider/services')
    const folder = await mkdtemp(join(tmpdir(), 'agenthub-test-'))
    const choose = async (name: string, text: string): Promise<string> => {
      await writeFile(join(folder, name), text)
      const [chooser] = await Promise.all([
        tab.page.waitForFileChooser(),
        tab.page.click('input[type=file][data-into]'),
      ])
      await chooser.accept([join(folder, name)])
      return String(await tab.page.evaluate(FILE_ERROR))
    }
    expect(await choose('large.yaml', '#'.repeat(200_001))).to.include('larger than 200 KB')
    await tab.send('import', { url: 'http://127.0.0.1/openapi.json', slug: 'tides-file' })
    expect(await tab.text(), 'the URL is sent without the file').to.include('Not saved')
    await tab.go('/provider/services')
    expect(await choose('tides.json', JSON.stringify(OPENAPI))).to.equal('')
    await tab.page.waitForFunction(`document.getElementById('import-openapi').value !== ''`)
    await tab.send('import', { slug: 'tides-file' })
    expect(await tab.text()).to.include('GET /tides')
    await rm(folder, { recursive: true })
    await tab.close()
  })

  for (const scripts of [true, false]) {
    it(`lead from an import to a first sale, ${scripts ? 'with' : 'without'} scripts`, async () => {
      const slug = `tides-${scripts}`
      const { cookie } = await signInByOutbox(hub(), `${slug}@example.test`)
      const answer = {
        '/v2/tides': (_: unknown, out: ServerResponse) => out.end('{"high":"6:12"}'),
      }
      sites().at('gateway.test', (request, response) => {
        response.setHeader('Content-Type', 'application/json')
        paths(answer)(request, response)
      })
      const tab = await tabs.open({ scripts, cookie })
      await tab.go('/provider/services')
      const options = (state: string) => tab.page.$(`details${state} [name=max_bytes]`)
      expect(await options(':not([open])'), 'folded').not.to.equal(null)
      await tab.send('import', { slug, openapi: '{' })
      expect(await options('[open]'), 'open with errors').not.to.equal(null)
      expect(await tab.page.$('#flash'), 'not a document').not.to.equal(null)
      await tab.send('import', { slug, openapi: JSON.stringify({ ...OPENAPI, servers: [] }) })
      expect(await tab.text()).to.include('Is required because the document names no server')
      const document = { slug, openapi: JSON.stringify(OPENAPI) }
      await tab.send('import', { ...document, only: '/tides\n/moon' })
      expect(await tab.text()).to.include('The document has no tag, path or operation /moon')
      await tab.send('import', { ...document, only: 'GET /tides' })
      expect(await tab.text())
        .to.include('GET /tides')
        .and.to.include('2 of 5 steps done')
      expect(
        await next(tab),
        'an import brings endpoints; this one needs no credential',
      ).to.include('Set prices')
      await tab.send('price', { price: 'much' })
      await tab.page.waitForSelector('#flash:focus') // so that Tab continues at the error
      const field = await tab.page.$eval('#flash a', (link) => link.getAttribute('href')!)
      const [value, describedBy] = await tab.page.$eval(field, (input) => [
        input.getAttribute('value'),
        input.getAttribute('aria-describedby'),
      ])
      expect(value).to.equal('much')
      expect(await tab.page.$eval(`#${describedBy}`, (text) => text.textContent)).to.include(
        'such as 2.50',
      )
      await tab.send('price', { price: '0.01' })
      await tab.page.waitForSelector('[role=status]:focus')
      expect(await tab.text()).to.include('$0.01')
      expect(await next(tab))
        .to.include('Test every endpoint')
        .and.to.include('GET /tides')
      expect(await tab.text()).to.include('Its schema has no sample for harbor')
      expect(await tab.send('test'), 'a made-up value is not sent').to.include('not a placeholder')
      await tab.send('test', { input: '{"harbor":"Bergen"}' })
      expect(await tab.text())
        .to.include('a caller would have been charged')
        .and.to.include('6:12')
      await tab.go(`/provider/services/${slug}`)
      expect(await next(tab)).to.include('Publish')
      await tab.send('activate')
      expect(await tab.text()).to.include('Your API is on sale')
      await tab.go(`/services/${slug}/try`)
      expect(await tab.text(), 'buyers see the tested input').to.include('harbor=Bergen')
      await tab.go(`/provider/services/${slug}`)
      const { body } = await ask(hub().url, `/proxy/${slug}/tides?harbor=x&dry_run`, {
        method: 'GET',
      })
      expect(body).to.include({ price_microdollars: 10_000 })
      await tab.send('price', { price: '0.004' })
      const { body: cheaper } = await ask(hub().url, `/v1/services/${slug}`)
      expect(JSON.stringify(cheaper)).to.include('4000')
      const { apiKey: key, keyId } = await hub().agent()
      await hub().credit(keyId, usd('1'))
      const sold = await ask(hub().url, `/proxy/${slug}/tides?harbor=Bergen`, {
        method: 'GET',
        key,
      })
      expect(sold.status, sold.text).to.equal(200)
      await eventually(async () => {
        await tab.go(`/provider/services/${slug}`)
        return /Earned\s*\$0\.0036/.test(await tab.text())
      })
      await eventually(async () => {
        await tab.go('/provider')
        return /Balance\s*\$0\.0036/.test(await tab.text()) // less a commission of 10 %
      })
      await tab.go(`/provider/services/${slug}`)
      const figures = await tab.text()
      expect(figures).to.match(/\$0\.0036\s+of\s+this API is in your balance.*payout address/s)
      expect(figures, 'its caller').to.match(/Callers\s*Caller.*[\da-f]{16}/s)
      expect(await tab.text()).to.include('None of the newest 5,000 calls failed.')
      sites().at('gateway.test', (_, response) => {
        response.statusCode = 500
        response.end('{}')
      })
      await ask(hub().url, `/proxy/${slug}/tides?harbor=Bergen`, { method: 'GET', key })
      await eventually(async () => {
        await tab.go(`/provider/services/${slug}`)
        return (await tab.text()).includes('Among the newest 5,000 calls')
      })
      const theirs = await ask(hub().url, `/v1/provider/calls?service=${slug}`, { key })
      expect(theirs.body['code'], 'of another provider').to.equal('service_not_found')
      await tab.send('pause')
      expect(await tab.text()).to.include('Sales paused')
      await tab.close()
    })
  }
}

/** The document of an API that needs a key. */
const SECURED = {
  ...OPENAPI,
  components: { securitySchemes: { key: { type: 'apiKey', in: 'header', name: 'X-Port-Key' } } },
  security: [{ key: [] }],
}

/** Returns the text of the step that comes next. */
const next = ({ page }: Awaited<ReturnType<ReturnType<typeof useTabs>['open']>>) =>
  page.$eval('[aria-current=step]', (step) => step.textContent)

const FILE_ERROR = `document.querySelector('input[type=file]').validationMessage`
