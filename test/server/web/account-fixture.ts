import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { sleep } from '../../../core/clock.ts'
import { usd } from '../../../core/money.ts'
import { paths, type TestSites } from '../../core/catalog/fixture.ts'
import { ask } from '../../support/ask.ts'
import type { TestHub } from '../../support/hub.ts'
import { cookieOf, type Person, personWith, tokenIn } from '../../support/person.ts'
import { linkTwoKeys } from './linked-wallet.ts'

export const PROOF = '/.well-known/agenthub.txt'
const WAIT_MS = 15_000

/** Waits for the sign-in link sent to an address, in the outbox of the sandbox. */
export async function linkInOutbox(hub: TestHub, email: string): Promise<string> {
  const folder = join(hub.dataDir, 'outbox')
  for (let waited = 0; waited < WAIT_MS; waited += 50) {
    for (const name of await readdir(folder).catch(() => [])) {
      const text = name.endsWith('.txt') ? await readFile(join(folder, name), 'utf8') : ''
      const [link] = /^http\S+/m.exec(text) ?? []
      if (text.startsWith(`To: ${email}\n`) && link) return link
    }
    await sleep(50)
  }
  throw new Error(`no email to ${email}`)
}

/** Signs in by email. The links of a suite may be more than a network may request in an hour. */
export async function signInByOutbox(hub: TestHub, email: string): Promise<Person> {
  await hub.database.admin.query('DELETE FROM hub.magic_link WHERE used_at IS NOT NULL')
  await ask(hub.url, '/v1/account/sign-in', { body: { email } })
  const token = tokenIn(await linkInOutbox(hub, email))
  const response = await ask(hub.url, '/v1/account/confirm', { body: { token } })
  return personWith(hub.url, email, cookieOf(response))
}

/** Account with data on every page, and the paths of these pages. */
export async function openAccount(hub: TestHub, sites: TestSites) {
  const person = await signInByOutbox(hub, 'ada@example.test')
  const root = await post(person, '/v1/keys', { name: 'Research agents' })
  const keyId = String(root['key_id'])
  await hub.credit(keyId, usd('20'))
  const child = await post(person, '/v1/keys', {
    parent: keyId,
    name: 'Press review',
    max_day_microdollars: 2_000_000,
    services: ['analysis', 'echo'],
  })
  await post(person, '/v1/keys', { parent: String(child['key_id']), name: 'Night shift' })
  const webhook = await post(person, '/v1/webhooks', {
    url: 'http://agent.test/hub-events',
    events: ['balance.low', 'call.refunded'],
  })
  await person.ask(`/v1/webhooks/${String(webhook['webhook_id'])}/test`, { method: 'POST' })
  await linkTwoKeys(hub, person)
  const call = await makeCalls(hub, String(root['api_key']))
  const domain = await createDomain(hub, person, sites)
  const unverified = await post(person, '/v1/domains', { domain: 'http://index.test' })
  const api = await createDraftApi(person)
  const activeApi = await createActiveApi(hub, person, sites, String(root['api_key']))
  const accountPaths = [
    '/account',
    '/account/keys',
    `/account/keys/${keyId}`,
    `/account/keys/${keyId}?edit=child`,
    '/account/transfer',
    `/account/history?key=${keyId}`,
    `/account/history?key=${keyId}&service=nothing`,
    '/account/calls',
    '/account/calls?outcome=pending',
    `/account/calls/${call}`,
    '/account/documents',
    `/account/documents?kind=call&id=${call}`,
    '/account/webhooks',
    `/account/webhooks/${String(webhook['webhook_id'])}`,
    `/account/webhooks/${String(webhook['webhook_id'])}?edit=change`,
    '/account/notifications',
    '/account/wallets',
    '/account/sessions',
    '/account/activity',
    '/services/analysis/try?endpoint=POST%20%2Fanalyze',
    '/sign-in/again',
    '/provider/domains',
    `/provider/domains/${domain}`,
    `/provider/domains/${domain}?edit=rule&rule=%2F**`,
    `/provider/domains/${String(unverified['domain_id'])}`,
    '/provider',
    '/provider/services',
    `/provider/services/${api}`,
    `/provider/services/${api}?edit=secret`,
    `/provider/services/${api}?edit=endpoint`,
    `/provider/services/${activeApi}`,
    `/provider/calls?service=${activeApi}`,
    '/provider/statistics',
    '/provider/payouts',
  ]
  return { person, keyId, paths: accountPaths }
}

async function post(person: Person, path: string, body: object) {
  const response = await person.ask(path, { body })
  if (response.status !== 201) throw new Error(`${path}: ${response.text}`)
  return response.body
}

async function makeCalls(hub: TestHub, key: string): Promise<string> {
  let call = ''
  for (let i = 0; i < 4; i++) {
    const text = { body: { text: 'Lovely staff, noisy room.' }, key }
    await ask(hub.url, '/proxy/analysis/sentiment', text)
    const { headers } = await ask(hub.url, '/proxy/echo/say', { body: { words: 'hello' }, key })
    call = String(headers['x-call-id'])
  }
  return call
}

/** Creates an upstream API as a draft. */
async function createDraftApi(person: Person): Promise<string> {
  const slug = 'harbor-tides'
  await post(person, '/v1/provider/services', {
    slug,
    name: 'Harbor Tides',
    category: 'data',
    summary: 'Tides by harbor and day, for agents that plan.',
    base_url: 'http://gateway.test/v2',
  })
  const endpoint = { method: 'GET', path: '/tides/{harbor}', summary: 'The tides of a harbor.' }
  const unpriced = { method: 'GET', path: '/harbors', summary: 'All harbors.' }
  await person.ask(`/v1/provider/services/${slug}/endpoints`, {
    method: 'PUT',
    body: { endpoints: [{ ...endpoint, price_microdollars: 3_000 }, unpriced] },
  })
  return slug
}

/** Creates an upstream API that is on sale and was called. */
async function createActiveApi(
  hub: TestHub,
  person: Person,
  sites: TestSites,
  key: string,
): Promise<string> {
  const slug = 'harbor-maps'
  await post(person, '/v1/provider/services', {
    slug,
    name: 'Harbor Maps',
    category: 'data',
    summary: 'Charts of harbors with depths, for agents that sail.',
    base_url: 'http://gateway.test/v2',
  })
  const endpoint = { method: 'GET', path: '/maps', summary: 'All charts.' }
  const body = { endpoints: [{ ...endpoint, price_microdollars: 2_000 }] }
  await person.ask(`/v1/provider/services/${slug}/endpoints`, { method: 'PUT', body })
  sites.at('gateway.test', (_, response) => {
    response.setHeader('Content-Type', 'application/json')
    response.end('{"maps":[]}')
  })
  const test = { endpoint: 'GET /maps' }
  await person.ask(`/v1/provider/services/${slug}/test`, { body: test })
  await person.ask(`/v1/provider/services/${slug}/activate`, { method: 'POST' })
  for (let i = 0; i < 3; i++) {
    const { status, text } = await ask(hub.url, `/proxy/${slug}/maps`, { method: 'GET', key })
    if (status !== 200) throw new Error(text)
  }
  return slug
}

/** Creates a verified domain with prices. */
async function createDomain(hub: TestHub, person: Person, sites: TestSites): Promise<string> {
  const { domain_id: id, proof } = await post(person, '/v1/domains', {
    domain: 'http://owner.test',
    name: 'The Harbor Post',
  })
  const { token } = proof as { token: string }
  sites.at('owner.test', paths({ [PROOF]: (_, response) => response.end(token) }))
  await person.ask(`/v1/domains/${String(id)}/verify`, { method: 'POST' })
  const rules = [
    { path: '/**', price_microdollars: 5_000, cached_price_microdollars: 2_000 },
    { path: '/members/**', action: 'deny' },
  ]
  await person.ask(`/v1/domains/${String(id)}/rules`, { method: 'PUT', body: { rules } })
  await hub.database.admin.query('UPDATE hub.domain SET tried_at = NULL')
  return String(id)
}
