import { Readable } from 'node:stream'
import { expect } from 'chai'
import { usd } from '../../../core/money.ts'
import { defineService, s } from '../../../core/plugin/index.ts'
import { callResult } from '../../../server/web/call-result.ts'
import { ask } from '../../support/ask.ts'
import type { Person } from '../../support/person.ts'
import { useHub } from '../../support/suite.ts'
import { signInByOutbox } from './account-fixture.ts'
import { useTabs } from './tabs.ts'

const ECHO = '/services/echo/try'
const RUN = '6f1d2c3b-4a59-4e68-8b77-9a8695a4b3c2'

/** Adds 120 sub-keys of a main key: the second is revoked, the third frozen, the fourth expired. */
const INSERT_SUB_KEYS = `
  INSERT INTO hub.api_key (id, principal, parent, depth, credits, name, revoked_at, frozen_at,
    frozen_by, frozen_reason, expires_at)
  SELECT 'key_manyTry' || lpad(n::text, 9, '0'), m.principal, m.id, 1, m.credits, 'Sub ' || n,
    CASE n WHEN 2 THEN now() END, CASE n WHEN 3 THEN now() END, CASE n WHEN 3 THEN 'owner' END,
    CASE n WHEN 3 THEN 'Lost.' END, CASE n WHEN 4 THEN now() - interval '1 second' END
  FROM hub.api_key m, generate_series(1, 120) n WHERE m.id = $1`

/** Service whose calls cost nothing, with a parameter in its path. */
const freeService = () =>
  defineService({
    slug: 'clock',
    name: 'Clock',
    category: 'test',
    summary: 'Tells a made-up time.',
    provider: 'example',
    endpoints: {
      'GET /cities/{city}/time': {
        summary: 'Time of a city.',
        price: usd('0'),
        input: s.object({
          city: s.string({ maxLength: 50 }),
          offset: s.optional(s.integer({ minimum: -12 })),
          exact: s.optional(s.boolean()),
        }),
        output: s.unknown(),
        handle: ({ input }) => ({ input }),
      },
    },
  })

describe('the page that calls an endpoint', () => {
  const hub = useHub({ config: { proxies: 1, jobs: true }, plugins: [freeService] })
  const tabs = useTabs(() => hub().url)

  async function personWithKey(email: string, credits = usd('1')) {
    const person = await signInByOutbox(hub(), email)
    const { body: made } = await person.ask('/v1/keys', { body: { name: 'First' } })
    const keyId = String(made['key_id'])
    await hub().credit(keyId, credits)
    return { person, keyId, apiKey: String(made['api_key']) }
  }

  /** Submits the form as a browser does. */
  async function submit(
    { cookie }: Pick<Person, 'cookie'>,
    fields: Readonly<Record<string, string>>,
    { origin = hub().url, path = ECHO } = {},
  ) {
    const common = { act: 'run', endpoint: 'POST /say', run: RUN, max_price: '100' }
    const response = await fetch(`${hub().url}${path}`, {
      method: 'POST',
      redirect: 'manual',
      headers: { cookie, origin, accept: 'text/html' },
      body: new URLSearchParams({ ...common, ...fields }),
    })
    return { status: response.status, text: await response.text(), headers: response.headers }
  }

  for (const scripts of [true, false]) {
    it(`makes a call and links its receipt, ${scripts ? 'with' : 'without'} scripts`, async () => {
      const { person, keyId } = await personWithKey(`try-${scripts}@example.test`)
      const tab = await tabs.open({ scripts, cookie: person.cookie })
      await tab.go('/services/echo')
      await Promise.all([
        tab.page.waitForNavigation(),
        tab.page.click('a[aria-label="Try it: POST /say"]'),
      ])
      const text = await tab.send('run', { 'in-words': 'hello <b>there</b>', key: keyId })
      expect(text)
        .to.match(/You were charged \$0\.0001\./)
        .and.to.match(/Latency\s*\d+ ms/)
        .and.to.match(/Remaining credits\s*\$0\.9999/)
        .and.to.include('"words": "hello <b>there</b>"')
      expect(await hub().balance(keyId)).to.equal(999_900n)
      await tab.page.reload()
      expect(await hub().balance(keyId), 'reloading the result').to.equal(999_900n)
      expect(await tab.text()).to.include('Repeating it is free')
      await tab.send('run', { 'in-words': 'hello <b>there</b>' })
      expect(await hub().balance(keyId), 'running it again').to.equal(999_800n)
      await Promise.all([
        tab.page.waitForNavigation(),
        tab.page.click('#flash a[href*="/account/calls/"]'),
      ])
      expect(await tab.text()).to.include('Download receipt')
      expect(tab.errors).to.deep.equal([])
      await tab.close()
    })
  }

  it('charges one call for a form that is submitted twice at once', async () => {
    const { person, keyId } = await personWithKey('twice@example.test')
    const both = { 'in-words': 'once', key: keyId }
    await Promise.all([submit(person, both), submit(person, both)])
    expect((await submit(person, both)).text).to.include('charged $0.0001. Repeating it is free.')
    expect(await hub().balance(keyId)).to.equal(999_900n)
    const { text } = await submit(person, { ...both, 'in-words': 'twice' })
    expect(text, 'other inputs are another call').to.include('You were charged $0.0001.')
  })

  it('counts a call without a key towards the limit of the network, beside its page', async () => {
    const ip = '203.0.113.77'
    const fields = { act: 'run', endpoint: 'GET /cities/{city}/time', run: RUN, 'in-city': 'Oslo' }
    const call = async () => {
      const response = await fetch(`${hub().url}/services/clock/try`, {
        method: 'POST',
        headers: { accept: 'text/html', origin: hub().url, 'x-forwarded-for': ip },
        body: new URLSearchParams({ ...fields, max_price: '0' }),
      })
      await response.text()
      return response.status
    }
    let calls = 0
    while ((await call()) === 200) calls += 1
    expect(calls).to.be.within(140, 150)
  })

  it('shows input errors at their fields, keeps the values and charges nothing', async () => {
    const { person, keyId } = await personWithKey('errors@example.test')
    const words = 'x'.repeat(1_001)
    const { status, text } = await submit(person, { 'in-words': words, key: keyId })
    expect(status).to.be.within(413, 422)
    expect(text).to.include(words).and.to.include(`value="${RUN}"`)
    const analysis = { endpoint: 'POST /classify', max_price: '1000000', key: keyId }
    const path = '/services/analysis/try'
    const invalid = { ...analysis, 'in-text': 'Hello.', 'in-categories': '["a"' }
    const typed = await submit(person, invalid, { path: `${path}?endpoint=POST+%2Fclassify` })
    expect(typed.status).to.equal(422)
    expect(typed.text).to.include('Must be JSON.').and.to.include('id="run-in-categories-error"')
    expect(await hub().balance(keyId)).to.equal(1_000_000n)
  })

  it('does not call above the price that it showed', async () => {
    const { person, keyId } = await personWithKey('price@example.test')
    const fields = { 'in-words': 'hello', key: keyId, max_price: '99' }
    expect((await submit(person, fields)).text).to.include('exceeds the price shown')
    expect(await hub().balance(keyId)).to.equal(1_000_000n)
  })

  it('explains what is missing when the key cannot pay', async () => {
    const { person, keyId } = await personWithKey('empty@example.test', usd('0.00005'))
    const { status, text } = await submit(person, { 'in-words': 'hello', key: keyId })
    expect(status).to.equal(402)
    expect(text).to.include('role="alert"').and.to.include('This call costs $0.0001.')
    expect(text).to.include('$0.00005 are available. <a href="/topup">Add credits</a>')
  })

  it('calls only with keys of the visitor, within their limits', async () => {
    const { keyId } = await personWithKey('owner@example.test')
    const other = await signInByOutbox(hub(), 'other@example.test')
    expect((await submit(other, { 'in-words': 'hello', key: keyId })).status).to.equal(404)
    const { person, keyId: root } = await personWithKey('limits@example.test')
    const body = { parent: root, services: ['analysis'] }
    const { body: child } = await person.ask('/v1/keys', { body })
    const sub = String(child['key_id'])
    expect((await submit(person, { 'in-words': 'hello', key: sub })).status).to.equal(403)
    await person.ask(`/v1/keys/${root}/freeze`, { body: { reason: 'Lost.' } })
    expect((await submit(person, { 'in-words': 'hello', key: sub })).status).to.equal(403)
    expect([await hub().balance(keyId), await hub().balance(root)]).to.deep.equal([
      1_000_000n,
      1_000_000n,
    ])
  })

  it('offers keys that can call, main keys first, however many sub-keys are older', async () => {
    const { person, keyId } = await personWithKey('many@example.test')
    await hub().database.admin.query(INSERT_SUB_KEYS, [keyId])
    const { body: second } = await person.ask('/v1/keys', { body: { name: 'Second' } })
    const headers = { accept: 'text/html', cookie: person.cookie }
    const { text } = await ask(hub().url, ECHO, { headers })
    const [, select = ''] = /<select id="run-key"[^>]*>(.*?)<\/select>/s.exec(text) ?? []
    const offered = [...select.matchAll(/value="(key_\w+)"[^>]*>([^<]+)</g)]
    expect(offered.slice(0, 3).map(([, id, label]) => [id, label])).to.deep.equal([
      [keyId, 'First ($1.00)'],
      [second['key_id'], 'Second ($0.00)'],
      ['key_manyTry000000001', 'Sub 1 (sub-key)'],
    ])
    expect(offered).to.have.length(100)
    const named = select.match(/key_manyTry00000000[234]/g)
    expect(named, 'revoked, frozen or expired').to.equal(null)
  })

  it('refuses forms of other sites', async () => {
    const { person, keyId } = await personWithKey('csrf@example.test')
    const fields = { 'in-words': 'hello', key: keyId }
    const { status } = await submit(person, fields, { origin: 'https://evil.example' })
    expect(status).to.equal(403)
    expect(await hub().balance(keyId)).to.equal(1_000_000n)
  })

  it('asks visitors to sign in, and those without a key to create one', async () => {
    const open = (path: string, headers = {}) =>
      ask(hub().url, path, { headers: { accept: 'text/html', ...headers } })
    expect((await open(ECHO)).text)
      .to.include('href="/sign-in"')
      .and.not.to.include('name="run"')
    const { cookie } = await signInByOutbox(hub(), 'keyless@example.test')
    expect((await open(ECHO, { cookie })).text).to.include('href="/account/keys#make"')
    expect((await open('/services/nowhere/try')).status).to.equal(404)
    expect((await open(`${ECHO}?endpoint=GET+/x`)).status).to.equal(404)
    const ended = await submit({ cookie: '' }, { 'in-words': 'hello', key: 'key_x' })
    expect([ended.status, ended.headers.get('location')]).to.deep.equal([303, '/sign-in'])
  })

  it('makes free calls without an account, with values of the declared types', async () => {
    const tab = await tabs.open()
    await tab.go('/services/clock/try')
    const valueOf = (name: string) =>
      tab.page.$eval(`#run-in-${name}`, (field) => field.getAttribute('value'))
    expect(await valueOf('city'), 'without a sample nothing is made up').to.equal('')
    expect(await tab.text(), 'but a placeholder in the code').to.include('%3Ccity%3E')
    const fields = { 'in-city': 'A/B ?#', 'in-offset': '-3', 'in-exact': 'false' }
    const text = await tab.send('run', fields)
    expect(text).to.include('You were not charged.')
    const shown = await tab.page.$eval('#flash pre', (each) => each.textContent ?? '')
    expect(JSON.parse(shown)).to.deep.equal({ input: { city: 'A/B ?#', offset: -3, exact: false } })
    expect(await tab.send('run', { 'in-offset': 'soon' })).to.include('Not saved')
    expect(await tab.page.$eval('#run-in-offset', (each) => each.ariaInvalid)).to.equal('true')
    await tab.close()
  })
})

describe('the result of a call on a page', () => {
  const resultOf = async (body: unknown, headers: Readonly<Record<string, string>> = {}) => {
    const response = { status: 200, headers, body }
    return (await callResult({ response, latencyMs: 4, keyId: 'key_1' })).text
  }

  it('shows JSON indented, text escaped, and the beginning of a long body or stream', async () => {
    expect(await resultOf(Buffer.from('{"a":[1]}'))).to.include('[\n    1\n  ]')
    expect(await resultOf('<script>')).to.include('&#60;script&#62;')
    expect(await resultOf('a'.repeat(30_000)))
      .to.include('Only the beginning is shown.')
      .and.to.have.length.below(22_000)
    expect(await resultOf(Readable.from([Buffer.from('one, '), Buffer.from('two')]))).to.include(
      '<code>one, two</code>',
    )
    const endless = Readable.from(
      (function* () {
        for (;;) yield Buffer.alloc(65_536, 'a')
      })(),
    )
    expect(await resultOf(endless)).to.include('Only the beginning is shown.')
    expect(await resultOf(Buffer.from([0xff, 0xd8]))).to.include('not text (2 bytes)')
  })

  it('names a failure, which is not charged', async () => {
    const headers = { 'X-Charged-Microdollars': '0', 'X-Refund-Reason': 'status_500' }
    expect(await resultOf('', headers))
      .to.include('The call failed.')
      .and.to.include('You were not charged.')
      .and.to.include('status_500')
  })
})
