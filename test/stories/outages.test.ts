import { randomBytes, randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { isJsonObject } from '../../core/json.ts'
import { usd } from '../../core/money.ts'
import { USDC_BASE } from '../../core/payments/chain/asset.ts'
import { openChain } from '../../core/payments/chain/chain.ts'
import { resolvePayments } from '../../core/payments/operations/resolve.ts'
import { realSockets } from '../core/egress/fixture.ts'
import { Proxy } from '../faults/rig/proxy.ts'
import { ask } from '../support/ask.ts'
import { eventually } from '../support/eventually.ts'
import { FaultProxy } from '../support/fault-proxy.ts'
import { startTestHub, type TestAgent, type TestHub } from '../support/hub.ts'
import { type Mailbox, openMailbox } from '../support/mailbox.ts'
import { type FreshDatabase, freshDatabase } from '../support/postgres.ts'

type Line = Readonly<Record<string, unknown>>

const WARN = 40
const REQUESTS = 200
const PAYMENTS = 120
const GUESTS = ['ada', 'bob', 'eve'].map((name) => `${name}@example.test`)
/** Least failures of each outage. */
const FAILURES = { database: REQUESTS, 'blockchain node': PAYMENTS, 'mail server': 1 }

describe('A108 outages in the log of a hub', () => {
  realSockets()
  let database: FreshDatabase
  let proxy: Proxy
  let node: FaultProxy
  let mailServer: FaultProxy
  let mailbox: Mailbox
  let hub: TestHub
  let ada: TestAgent

  before(async () => {
    database = await freshDatabase()
    proxy = await Proxy.open(Number(new URL(database.url).port))
    mailbox = await openMailbox()
    mailServer = await FaultProxy.start(Number(new URL(mailbox.url).port))
    hub = await startTestHub({
      config: {
        databaseUrl: proxy.through(database.url),
        jobs: true,
        mail: { smtpUrl: `smtp://127.0.0.1:${mailServer.port}`, from: 'hub@example.test' },
      },
    })
    node = await FaultProxy.start(Number(new URL(hub.sandbox!.rpcUrl).port))
    ada = await hub.agent()
    await hub.credit(ada.keyId, usd('1'))
  })
  after(async () => {
    await hub?.close()
    await node?.close()
    await mailServer?.close()
    await mailbox?.close()
    await proxy?.close()
    await database?.drop()
  })

  const troubles = (component: string): readonly Line[] =>
    hub
      .logged()
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Line)
      .filter((line) => Number(line['level']) >= WARN && line['component'] === component)
  const stacksOf = (lines: readonly Line[]): number =>
    lines.filter(({ err }) => isJsonObject(err) && err['stack'] !== undefined).length
  const endsOf = (component: string): readonly Line[] =>
    troubles(component).filter(({ msg }) => msg === 'available again')

  it('are a few lines for 200 failed requests', async () => {
    const { target } = proxy
    proxy.target = undefined
    proxy.cut()
    const calls = Array.from({ length: REQUESTS }, () =>
      ask(hub.url, '/proxy/echo/say', { key: ada.apiKey, body: { words: 'hello' } }),
    )
    const refused = await Promise.all(calls)
    expect(refused.map(({ status }) => status)).to.deep.equal(refused.map(() => 503))
    const dry = await ask(hub.url, '/proxy/echo/say?dry_run', {
      key: ada.apiKey,
      body: { words: 'hello' },
    })
    expect(dry.body['advice']).to.equal('Nothing was charged. Try again later.')
    proxy.target = target
    const lines = troubles('database')
    expect(lines.length, JSON.stringify(lines)).to.be.at.most(20)
    expect(stacksOf(lines)).to.be.within(1, 8)
    expect(lines.filter(({ msg }) => msg === 'service_unavailable')).to.not.have.length(0)
  })

  it('are a few lines for 120 open payments that cannot be resolved', async () => {
    const hex = (bytes: number) => `0x${randomBytes(bytes).toString('hex')}`
    const { treasury } = hub.sandbox!.wallets
    const rows = Array.from({ length: PAYMENTS }, () => [hex(20), hex(32), randomUUID()])
    await hub.hub.pool.query(
      `INSERT INTO hub.payment_claim (network, asset, payer, nonce, id, purpose, pay_to, payee,
         commission_bps, request_hash, amount, state, valid_before)
       SELECT $1, $2, payer, nonce, id, 'credits', $3, $4, 0, '\\x00', 1, 'pending',
         now() - interval '1 hour'
       FROM unnest($5::text[], $6::text[], $7::uuid[]) u(payer, nonce, id)`,
      [
        USDC_BASE.network,
        USDC_BASE.address.toLowerCase(),
        treasury.account.address.toLowerCase(),
        `liabilities:agents:${ada.keyId}:credits`,
        ...[0, 1, 2].map((column) => rows.map((row) => row[column])),
      ],
    )
    const rpcUrl = `http://127.0.0.1:${node.port}`
    const chain = openChain({ rpcUrl, network: USDC_BASE.network, timeoutMs: 1_000 })
    await node.fail('refuses')
    for (const _ of [1, 2, 3]) await resolvePayments({ ...hub.hub.paymentDeps, chain }, 0)
    await node.fail(undefined)
    const failed = troubles('blockchain node')
    expect(failed.length, JSON.stringify(failed)).to.be.within(1, 3)
    expect(stacksOf(failed)).to.be.within(1, 3)
  })

  it('are one line for mails that are not sent', async () => {
    await mailServer.fail('refuses')
    for (const email of GUESTS) await ask(hub.url, '/v1/account/sign-in', { body: { email } })
    await eventually(() => troubles('mail server').length > 0)
    await mailServer.fail(undefined)
    for (const email of GUESTS) await mailbox.next(email)
    expect(stacksOf(troubles('mail server'))).to.equal(1)
  })

  it('are one line each when they are over', async () => {
    for (const [component, least] of Object.entries(FAILURES)) {
      await eventually(() => endsOf(component).length > 0)
      expect(endsOf(component)).to.have.length(1)
      expect(endsOf(component)[0]!['failures']).to.be.at.least(least)
    }
    expect(troubles('mail server')).to.have.length(2)
    const call = await ask(hub.url, '/proxy/echo/say', { key: ada.apiKey, body: { words: 'hi' } })
    expect(call.status).to.equal(200)
  })
})
