import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { createLog } from '../../core/log.ts'
import { defineService, s, usd } from '../../core/plugin/index.ts'
import { fund } from '../../server/sandbox/wallets.ts'
import { ask, payFor } from '../support/ask.ts'
import { eventually } from '../support/eventually.ts'
import { useHub } from '../support/suite.ts'

/** Service that fails with its whole input in the error. */
const gossip = defineService({
  slug: 'gossip',
  name: 'Gossip',
  category: 'test',
  summary: 'Repeats what it hears, in errors.',
  provider: 'example',
  endpoints: {
    'POST /tell': {
      summary: 'Fails.',
      price: usd('0.001'),
      input: s.object({ words: s.string({ maxBytes: 4_000 }) }),
      handle: ({ input }) => {
        throw new Error(`heard ${input.words}`)
      },
    },
  },
})

const SECRET = 'a-metrics-token-of-a-test'

describe('A102 the log of a whole story', () => {
  const hub = useHub({ plugins: [gossip], config: { metricsToken: SECRET, jobs: true } })
  /** Secrets by kind: everything that grants access or proves something. */
  const secrets = new Map<string, string>()

  const register = async () => {
    const key = generatePrivateKey()
    const account = privateKeyToAccount(key)
    await fund(hub().sandbox!.rpcUrl, account.address, { usdc: usd('10') })
    const { body } = await ask(hub().url, '/v1/register/challenge')
    const signature = await account.signMessage({ message: String(body['message']) })
    const response = await ask(hub().url, '/v1/register', {
      body: { wallet_address: account.address, signature, nonce: body['nonce'] },
    })
    expect(response.status).to.equal(201)
    const apiKey = String(response.body['api_key'])
    for (const [what, value] of Object.entries({ key, signature, apiKey })) secrets.set(what, value)
    await hub().credit(String(response.body['key_id']), usd('1'))
    return { account, apiKey }
  }

  const signIn = async (): Promise<void> => {
    const email = 'ada@example.com'
    expect((await ask(hub().url, '/v1/account/sign-in', { body: { email } })).status).to.equal(202)
    const outbox = join(hub().dataDir, 'outbox')
    const mails = () => readdir(outbox).catch(() => [])
    await eventually(async () => (await mails()).some((name) => name.endsWith('.txt')))
    const [name] = (await mails()).filter((each) => each.endsWith('.txt'))
    const link = /https?:\S+token=([\w-]{43})/.exec(await readFile(join(outbox, name!), 'utf8'))!
    const [, token = ''] = link
    secrets.set('token of a mail', token)
    expect((await ask(hub().url, link[0])).status).to.equal(200)
    const confirmed = await ask(hub().url, '/v1/account/confirm', { body: { token } })
    expect(confirmed.status).to.equal(201)
    const cookie = String(confirmed.headers['set-cookie'])
    secrets.set('token of a session', /=([\w-]{20,})/.exec(cookie)![1]!)
    await ask(hub().url, '/v1/account', { headers: { cookie: cookie.split(';')[0]! } })
  }

  it('shows who did what, and no key, signature, token or link', async () => {
    const { account, apiKey } = await register()
    await signIn()
    const hook = { url: 'https://hooks.example/in', events: ['balance.low'] }
    const webhook = await ask(hub().url, '/v1/webhooks', { key: apiKey, body: hook })
    expect(webhook.status).to.equal(201)
    secrets.set('secret of a webhook', String(webhook.body['secret']))

    const url = `${hub().url}/proxy/echo/say`
    const say = { body: { words: 'hello' } }
    const payment = await payFor(account, url, await ask(hub().url, url, say))
    secrets.set('payment', payment)
    const inside = /"signature":"(0x\w+)"/.exec(Buffer.from(payment, 'base64').toString())!
    secrets.set('signature of a payment', inside[1]!)
    const paid = await ask(hub().url, url, { ...say, headers: { 'payment-signature': payment } })
    expect(paid.status).to.equal(200)

    // Whatever a service repeats of its input, and values in the wrong place.
    for (const value of secrets.values()) {
      const words = `Authorization: Bearer ${value} and token=${value}`
      const { body } = await ask(hub().url, '/proxy/gossip/tell', { key: apiKey, body: { words } })
      expect(body).to.include({ code: 'plugin_failed', charged_microdollars: 0 })
      await ask(hub().url, `/v1/services/none?token=${encodeURIComponent(value)}`)
      await ask(hub().url, '/proxy/echo/say', {
        key: value.replaceAll(/[^\x20-\x7e]/g, ''),
        ...say,
      })
    }
    await ask(hub().url, '/metrics', { key: SECRET })
    secrets.set('token of metrics', SECRET)
    secrets.set('password of the database', new URL(hub().database.url).password)
    for (const [name, { key }] of Object.entries(hub().sandbox!.wallets)) secrets.set(name, key)

    const logged = hub().logged()
    expect(logged.length).to.be.greaterThan(5_000)
    for (const [what, value] of secrets) {
      if (value !== '') expect(logged.includes(value), what).to.equal(false)
    }
    const lines = logged.trim().split('\n')
    const requests = lines.map((line) => JSON.parse(line)).filter(({ msg }) => msg === 'request')
    expect(
      requests.find(({ route, charged }) => route === '/proxy/{slug}' && charged > 0),
    ).to.include({ method: 'POST', status: 200, service: 'echo', charged: 100 })
  })

  it('would show them without the scrubber, because the story has every secret', () => {
    const lines: string[] = []
    const log = createLog('info', { write: (line) => lines.push(line) })
    const unknown = [...secrets].filter(([, value]) => {
      lines.length = 0
      log.info(`plain ${value}`)
      return value !== '' && lines.join('').includes(value)
    })
    // Tokens and raw keys have no pattern: only position or value identifies them.
    const names = unknown.map(([what]) => what)
    expect(names).to.include.members(['token of a mail', 'token of a session', 'key'])
    expect(names).not.to.include.members(['apiKey', 'signature', 'payment', 'secret of a webhook'])
    expect([...secrets.keys()]).to.have.length.greaterThan(10)
  })
})
