import { expect } from 'chai'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { ask, askRaw } from '../../support/ask.ts'
import { eventually } from '../../support/eventually.ts'
import { useHub } from '../../support/suite.ts'
import { signInByOutbox } from './account-fixture.ts'

const NASTY = `<script>alert(1)</script>" onload="x" javascript:alert(2) \u202egnp.exe \u001b[31m`

describe('pages of the hub', () => {
  const hub = useHub({ config: { jobs: true } })
  const open = (path: string, headers: Readonly<Record<string, string>> = {}) =>
    ask(hub().url, path, { headers: { accept: 'text/html,*/*;q=0.8', ...headers } })

  const PAGES = {
    '/': 'APIs for agents',
    '/services?q=sentiment&type=native&max_price=0.01': 'Why: ',
    '/services': 'returns the text that it was sent',
    '/services/analysis': 'POST /sentiment',
    '/status': 'Status',
    '/topup': 'Key and amount',
    '/docs': 'API reference',
  }
  for (const [path, words] of Object.entries(PAGES)) {
    it(`${path} is complete, loads resources of the hub only, no inline scripts`, async () => {
      const { status, text, headers } = await open(path)
      expect(status).to.equal(200)
      expect(text.toLowerCase()).to.include(words.toLowerCase())
      expect(text)
        .to.match(/^<!doctype html>\n<html lang="en">/)
        .and.to.include('href="#main"')
        .and.not.to.match(/<script(?! src="\/assets\/)|\sstyle=|\son\w+=|undefined|\[object/)
      const loaded = text.replaceAll(`<link rel="canonical" href="${hub().url}/`, '')
      expect([...loaded.matchAll(/<(?:link|script|img|form)[^>]*(?:src|href|action)="([^"]*)"/g)])
        .to.have.length.greaterThan(1)
        .and.to.satisfy((all: RegExpMatchArray[]) => all.every(([, url]) => url!.startsWith('/')))
      expect(headers['content-security-policy'])
        .to.include("default-src 'none'")
        .and.not.to.include('unsafe')
    })
  }

  it('load assets from immutable paths, and no other path serves a file', async () => {
    const { text } = await open('/')
    const files = [...text.matchAll(/"(\/assets\/[^"]+)"/g)].map(([, file]) => file!)
    for (const file of files) {
      const { status, headers } = await open(file)
      expect(status, file).to.equal(200)
      expect(headers['cache-control']).to.include('immutable')
    }
    expect((await open('/assets/hub.css')).status).to.equal(404)
    expect((await open('/assets/..%2fpage.ts')).status).to.equal(404)
  })

  it('show errors as a page to browsers and as problem details to programs', async () => {
    for (const path of ['/nowhere', '/services/nowhere', '/listings/nowhere']) {
      const page = await open(path)
      expect(page.status, path).to.equal(404)
      expect(page.text).to.include('You were not charged').and.to.include('/docs/problems/')
      const { status, headers } = await ask(hub().url, path)
      expect(status).to.equal(404)
      expect(headers['content-type']).to.include('application/problem+json')
    }
    const { status, text } = await open('/services?max_price=cheap')
    expect(status).to.equal(422)
    expect(text).to.include('Enter dollars, such as 0.01').and.to.include('value="cheap"')
    expect((await open('/v1/services/nowhere')).headers['content-type']).to.include('problem+json')
  })

  it('name an invalid filter in words, and lead back to the page or its area', async () => {
    const { cookie } = await signInByOutbox(hub(), 'filters@example.test')
    const invalid = await open('/account/calls?from=2026-02-30', { cookie })
    expect(invalid.status).to.equal(422)
    expect(invalid.text)
      .to.include('Check the filters')
      .and.include('“from”: must be a date')
      .and.include('href="/account/calls">Open the page without filters')
      .and.not.include('/from:')
    const undecodable = await open('/provider/%ff', { cookie })
    expect(undecodable.status).to.equal(400)
    expect(undecodable.text).to.include('<h1>Malformed path</h1>')
    expect(undecodable.text).to.include('No page has an address with these characters.')
    const lost = await open('/provider/nowhere', { cookie })
    expect(lost.text).to.include('href="/provider">Go to what you sell')
  })

  it('lead to a key by its name or id, but not to a key of somebody else', async () => {
    const ada = await signInByOutbox(hub(), 'ada@example.test')
    const bob = await signInByOutbox(hub(), 'bob@example.test')
    const { body } = await ada.ask('/v1/keys', { body: { name: 'Harbor pilot' } })
    const id = String(body['key_id'])
    for (const q of ['harbor%20PILOT', id]) {
      const { status, headers } = await open(`/go?q=${q}`, { cookie: ada.cookie })
      expect([status, headers['location']], q).to.deep.equal([303, `/account/keys/${id}`])
      const { text } = await open(`/go?q=${q}`, { cookie: bob.cookie })
      expect(text).to.include('Go to').and.not.to.include(`/keys/${id}`)
    }
    const review = { text: 'Lovely staff.' }
    const key = String(body['api_key'])
    const { headers } = await ask(hub().url, '/proxy/analysis/sentiment', { body: review, key })
    const call = String(headers['x-call-id'])
    await eventually(async () => {
      const response = await open(`/go?q=${call}`, { cookie: ada.cookie })
      return response.headers['location'] === `/account/calls/${call}`
    })
    const { text } = await open(`/go?q=${call}`, { cookie: bob.cookie })
    expect(text).to.include('Go to').and.not.to.include(`/calls/${call}`)
  })

  it('redirect from a trailing slash within the site, and refuse other methods', async () => {
    for (const [path, place] of Object.entries({
      '/docs/': '/docs',
      '/services/?q=a': '/services?q=a',
      '/docs/problems//': '/docs/problems',
    })) {
      const { status, headers } = await open(path)
      expect([status, headers['location']], path).to.deep.equal([302, place])
    }
    for (const path of ['//evil.example/', '/\\evil.example/', '/%2f/']) {
      const text = await askRaw(hub().url, [`GET ${path} HTTP/1.1`, 'Accept: text/html'])
      expect(text, path)
        .to.match(/^HTTP.1.1 4/)
        .and.not.match(/^location:/im)
    }
    const refused = await ask(hub().url, '/services', { method: 'DELETE' })
    expect(refused.status).to.equal(405)
    expect(refused.headers['allow']).to.equal('GET, HEAD')
  })

  it('redirect signed-in visitors from the sign-in page, whatever the form contains', async () => {
    const { cookie } = await signInByOutbox(hub(), 'twice@example.test')
    const body = new URLSearchParams({ act: 'ask', email: 'no address' }).toString()
    const type = 'application/x-www-form-urlencoded'
    const headers = { accept: 'text/html', cookie, 'content-type': type }
    const response = await ask(hub().url, '/sign-in', { method: 'POST', body, headers })
    expect([response.status, response.headers['location']]).to.deep.equal([303, '/account'])
  })

  it('send WWW-Authenticate with each 401 (RFC 9110)', async () => {
    const person = await signInByOutbox(hub(), 'signs@example.test')
    const wallet = { wallet_address: `0x${'5a'.repeat(20)}` }
    const challenge = await person.ask('/v1/account/wallets/challenge', { body: wallet })
    const other = privateKeyToAccount(generatePrivateKey())
    const signature = await other.signMessage({ message: String(challenge.body['message']) })
    const fields = { act: 'sign', nonce: String(challenge.body['nonce']), signature }
    const type = 'application/x-www-form-urlencoded'
    const headers = { accept: 'text/html', cookie: person.cookie, 'content-type': type }
    const body = new URLSearchParams(fields).toString()
    const response = await ask(hub().url, '/account/wallets', { method: 'POST', body, headers })
    expect(response.status).to.equal(401)
    expect(response.headers['www-authenticate']).to.match(/^Bearer/)
  })

  it('A099 escape text from third parties', async () => {
    await hub().database.admin.query(
      `UPDATE hub.listing SET name = $1, description = $1, provider = $1`,
      [NASTY],
    )
    const { rows } = await hub().database.admin.query<{ id: string }>('SELECT id FROM hub.listing')
    expect(rows).not.to.have.length(0)
    for (const path of [
      `/listings/${rows[0]!.id}`,
      '/services?type=external',
      `/services?q=${encodeURIComponent(NASTY)}`,
    ]) {
      const { status, text } = await open(path)
      expect(status, path).to.equal(200)
      expect(text).to.include('alert(1)').and.not.to.include('<script>alert')
      expect(text).not.to.match(/\sonload="/)
      for (const invisible of ['\u202e', '\u001b']) expect(text).not.to.include(invisible)
      expect(text).not.to.match(/href="javascript:/i)
    }
  })

  it('link to the guides for agents, providers and finance', async () => {
    for (const path of ['/', '/docs', '/nowhere']) {
      const { text } = await open(path)
      for (const guide of ['agents', 'providers', 'finance', 'problems']) {
        expect(text, path).to.include(`href="/docs/${guide}"`)
      }
    }
  })

  it('respond 304 if they did not change', async () => {
    const first = await open('/services')
    const tag = String(first.headers['etag'])
    expect((await open('/services', { 'if-none-match': tag })).status).to.equal(304)
  })
})
