import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import nock from 'nock'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { HubClient } from '../../core/client/index.ts'
import { systemClock } from '../../core/clock.ts'
import { readConfig } from '../../core/config.ts'
import { uuidv7 } from '../../core/ids.ts'
import { creditsOf } from '../../core/ledger/postings.ts'
import { verifyLedger } from '../../core/ledger/verify.ts'
import { createLog } from '../../core/log.ts'
import { usd } from '../../core/money.ts'
import { resolvePayments } from '../../core/payments/operations/resolve.ts'
import { startJobs } from '../../jobs/index.ts'
import { plugins, privileged } from '../../plugins/index.ts'
import { type RunningHub, startHub } from '../../server/boot/start.ts'
import { type Sandbox, startSandbox } from '../../server/sandbox/start.ts'
import { fund } from '../../server/sandbox/wallets.ts'
import { type ApiResponse, ask, payFor } from '../support/ask.ts'
import { eventually } from '../support/eventually.ts'
import { FAILURE_MODES, FaultProxy } from '../support/fault-proxy.ts'
import { type FreshDatabase, freshDatabase } from '../support/postgres.ts'
import { openReceiver, type Receiver } from '../support/receiver.ts'
import { anew, counted, PRICE, work } from './counted-service.ts'

/** Responses that a failing dependency may cause. Anything else misleads, or is a fault of ours. */
const EXPECTED: ReadonlySet<string> = new Set([
  'payment_pending',
  'payment_in_progress',
  'chain_unavailable',
  'facilitator_unavailable',
  'upstream_error',
  'upstream_payment_terms',
  'upstream_timeout',
  'upstream_unreachable',
])

describe('a failing node, seller, webhook target, mail and Redis server', function () {
  this.timeout(120_000)
  const log = createLog('silent')
  const proxies: FaultProxy[] = []
  const unhandled: unknown[] = []
  const note = (error: unknown) => void unhandled.push(error)
  let dataDir: string
  let database: FreshDatabase
  let sandbox: Sandbox
  let running: RunningHub
  let receiver: Receiver
  let agent: Awaited<ReturnType<HubClient['register']>>
  const eve = privateKeyToAccount(generatePrivateKey())

  let seller: FaultProxy
  const proxyOf = async (port: number): Promise<FaultProxy> => {
    const proxy = await FaultProxy.start(port)
    proxies.push(proxy)
    return proxy
  }
  before(async () => {
    nock.restore()
    anew()
    process.on('unhandledRejection', note).on('uncaughtExceptionMonitor', note)
    database = await freshDatabase()
    receiver = await openReceiver()
    dataDir = await mkdtemp(join(tmpdir(), 'agenthub-test-'))
    sandbox = await startSandbox({ dataDir, logins: { url: database.url }, log })
    const node = await proxyOf(Number(new URL(sandbox.rpcUrl).port))
    seller = await proxyOf(sandbox.sellerPort)
    const sandboxPlace = {
      ...sandbox,
      rpcUrl: `http://127.0.0.1:${node.port}`,
      sellerPort: seller.port,
    }
    // An HTTP server as mail and Redis server: these fail from the start, in another way.
    const [hook, mail, redis] = await Promise.all(
      [receiver, receiver, receiver].map(({ port }) => proxyOf(port)),
    )
    const env = {
      SMTP_URL: `smtp://127.0.0.1:${mail!.port}`,
      REDIS_URL: `redis://127.0.0.1:${redis!.port}`,
    }
    const config = { ...readConfig(env), dataDir, port: 0, databaseUrl: database.url }
    const sandboxHosts = new Map([['receiver.test', hook!.port]])
    running = await startHub({
      config: { ...config, sandboxHosts },
      parts: { plugins: [...plugins, counted], privileged, startJobs },
      log,
      sandboxPlace,
    })
    await fund(sandbox.rpcUrl, eve.address, { usdc: usd('20') })
    const wallet = { account: privateKeyToAccount(generatePrivateKey()), sandbox: true }
    agent = await new HubClient({ baseUrl: running.url, wallet }).register()
    const { ledger } = running.hub
    const owner = await ledger.account(creditsOf(agent.keyId))
    const event = { type: 'credits.purchased', credits: owner.code, amount: usd('1') } as const
    await ledger.post(event, { owner, id: uuidv7(systemClock.now().getTime()) })
    const url = 'http://receiver.test/hook'
    const hooked = await send('/v1/webhooks', { url, events: ['balance.low'] }, agent.apiKey)
    expect(hooked.status, hooked.text).to.equal(201)
    hookId = String(hooked.body['webhook_id'])
  })
  after(async () => {
    await running?.stop()
    for (const proxy of proxies) await proxy.close()
    await sandbox?.stop()
    await receiver?.close()
    await database?.drop()
    await rm(dataDir, { recursive: true, force: true })
    process.off('unhandledRejection', note).off('uncaughtExceptionMonitor', note)
    nock.activate()
  })

  let hookId: string
  const send = (path: string, body: unknown, key?: string, payment?: string) =>
    ask(running.url, path, {
      method: 'POST',
      body,
      key,
      headers: payment === undefined ? {} : { 'payment-signature': payment },
    })
  const failAll = (mode: Parameters<FaultProxy['fail']>[0]) =>
    Promise.all(proxies.map((proxy) => proxy.fail(mode)))
  const external = () => ({ url: `${sandbox.sellerUrl}/weather`, method: 'GET' })
  const BOUGHT = usd('1')
  const buy = { amount_microdollars: Number(BOUGHT) }
  const sign = async (path: string, body: unknown, key?: string): Promise<string> => {
    const offered = await send(path, body, key)
    expect(offered.status, offered.text).to.equal(402)
    return payFor(eve, running.url, offered)
  }

  /** Requests of each kind that needs a dependency; payments are signed in advance. */
  async function prepare(): Promise<(() => Promise<ApiResponse>)[]> {
    const { apiKey } = agent
    const paid = await Promise.all([1, 2].map(() => sign('/proxy/counted/work', {})))
    const bought = await sign('/v1/credits/purchase', buy, apiKey)
    return [
      ...paid.map((payment) => () => send('/proxy/counted/work', {}, undefined, payment)),
      () => send('/v1/credits/purchase', buy, apiKey, bought),
      () => send('/proxy/external', external(), apiKey),
      () => send('/proxy/external?dry_run', external(), apiKey),
    ]
  }

  /** Requests that no failing dependency may prevent. */
  const independent = (): Promise<ApiResponse>[] => [
    send('/proxy/counted/work', {}, agent.apiKey),
    send(`/v1/webhooks/${hookId}/test`, undefined, agent.apiKey),
    send('/v1/account/sign-in', { email: 'ada@example.test' }),
    ask(running.url, '/livez'),
  ]

  const resolved = async (): Promise<boolean> => {
    await resolvePayments(running.hub.paymentDeps, 0).catch(() => {})
    const { rows } = await running.hub.pool.query<{ open: number }>(
      `SELECT (SELECT count(*) FROM hub.payment_claim WHERE state IN ('claimed', 'pending'))
         ::integer + (SELECT count(*) FROM hub.payment_intent
           WHERE state IN ('signed', 'unresolved'))::integer AS open`,
    )
    return rows[0]!.open === 0
  }

  for (const mode of FAILURE_MODES.filter((each) => each !== 'cut' && each !== 'huge')) {
    it(`ends no process, misleads nobody and costs nothing extra (${mode})`, async () => {
      const requests = await prepare()
      const usdcBefore = await sandbox.money.chain.balanceOf(eve.address)
      const treasuryBefore = await sandbox.money.chain.balanceOf(sandbox.money.treasury)
      // A dripping seller is cut after 30 seconds, which the tests of the egress guard show.
      await failAll(mode)
      if (mode === 'drips') await seller.fail('resets')
      const answers = Promise.all(requests.map((request) => request()))
      for (const { status, text } of await Promise.all(independent())) {
        expect(status, text).to.be.within(200, 202)
      }
      for (const { status, headers, body, text } of await answers) {
        expect(headers['content-type'], text).to.equal('application/problem+json')
        expect(EXPECTED.has(String(body['code'])), text).to.equal(true)
        expect(body, text).to.include({ status, charged_microdollars: 0 })
      }
      await failAll(undefined)
      await eventually(resolved)
      for (const request of requests.slice(0, 3)) {
        await eventually(async () => [200, 201, 402].includes((await request()).status))
      }
      await eventually(resolved)
      const spent = usdcBefore - (await sandbox.money.chain.balanceOf(eve.address))
      const received =
        (await sandbox.money.chain.balanceOf(sandbox.money.treasury)) - treasuryBefore
      expect(spent, 'everything that was spent has arrived').to.equal(received)
      expect(spent <= 2n * PRICE + BOUGHT).to.equal(true)
      expect(await verifyLedger(running.hub.pool)).to.have.property('ok', true)
      expect(unhandled.map(String)).to.deep.equal([])
      expect(work.done).to.be.greaterThan(0)
    })
  }

  it('of the node alone is a fault of the chain to callers of external sellers', async () => {
    await proxies[0]!.fail('503')
    const { status, headers, body } = await send('/proxy/external', external(), agent.apiKey)
    await proxies[0]!.fail(undefined)
    expect([status, body['code']]).to.deep.equal([503, 'chain_unavailable'])
    expect(body).to.include({ charged_microdollars: 0, retryable: true })
    expect(headers).to.include({ 'x-charged-microdollars': '0' })
  })
})
