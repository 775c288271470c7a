import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect } from 'chai'
import { request } from 'undici'
import { HubClient } from '../../../core/client/index.ts'
import { sleep } from '../../../core/clock.ts'
import { readConfig } from '../../../core/config.ts'
import { expireHolds } from '../../../core/ledger/expire.ts'
import { verifyLedger } from '../../../core/ledger/verify.ts'
import { createLog } from '../../../core/log.ts'
import { decimal, usd } from '../../../core/money.ts'
import { resolvePayments } from '../../../core/payments/operations/resolve.ts'
import type { Payment } from '../../../core/payments/receiving/payment.ts'
import { privileged } from '../../../plugins/index.ts'
import { type RunningHub, startHub } from '../../../server/boot/start.ts'
import { callRpc } from '../../../server/sandbox/rpc.ts'
import { realSockets } from '../../core/egress/fixture.ts'
import { type ApiResponse, ask } from '../../support/ask.ts'
import { authorizationOf } from '../../support/authorization.ts'
import { COMPILED_CODE } from '../../support/compiled-code.ts'
import { eventually } from '../../support/eventually.ts'
import { type FreshDatabase, freshDatabase, TEST_CLUSTER } from '../../support/postgres.ts'
import { type MppSeller, startMppSeller } from '../mpp-seller.ts'
import { PRICE, Sellers, SHOP } from './sellers.ts'

const PROGRAM = new URL('../../support/hub-process.ts', import.meta.url).pathname
/** Credits that the first agent of a sandbox buys. */
const CREDITS = usd('5')
const HOSTS = ['taker.test', 'keeper.test'] as const
/** Sellers that are asked again after the restart; the second one takes MPP alone. */
const AGAIN = 'again.test'
const MPP = 'mpp.test'

interface Ready {
  readonly url: string
  readonly apiKey: string
}

/** Sends a request again as long as its first attempt may still run, as the response says. */
async function untilOver(send: () => Promise<ApiResponse>): Promise<ApiResponse> {
  for (;;) {
    const response = await send()
    if (response.body['code'] !== 'idempotency_in_progress') return response
    await sleep(500)
  }
}

/** Kills the hub between signing and the seller's response. */
describe('A092 a hub that is killed while sellers have its signatures', () => {
  realSockets()
  let sellers: Sellers
  let mpp: MppSeller
  let database: FreshDatabase
  let dataDir: string
  let child: ChildProcess | undefined
  let next: RunningHub | undefined

  before(async () => {
    sellers = await Sellers.open()
    const settler = () => sellers.facilitator!
    mpp = await startMppSeller(settler, { recipient: SHOP, amount: decimal(PRICE) })
    database = await freshDatabase()
    dataDir = await mkdtemp(join(tmpdir(), 'agenthub-killed-'))
  })
  after(async () => {
    child?.kill('SIGKILL')
    await next?.stop()
    await sellers.close()
    await mpp.close()
    await database.drop()
    await rm(dataDir, { recursive: true, force: true, maxRetries: 5 })
  })

  const sandboxHosts = () =>
    [
      ...[...HOSTS, AGAIN].map((host) => `${host}=127.0.0.1:${sellers.port}`),
      `${MPP}=127.0.0.1:${mpp.port}`,
    ].join()

  async function start(): Promise<Ready> {
    child = spawn(process.execPath, [PROGRAM], {
      env: {
        PATH: '/usr/bin:/bin',
        NODE_COMPILE_CACHE: COMPILED_CODE,
        HUB_DATA_DIR: dataDir,
        HUB_PORT: '0',
        DATABASE_URL: database.url,
        ...(TEST_CLUSTER && { HUB_CLUSTER: TEST_CLUSTER }),
        HUB_SANDBOX_HOSTS: sandboxHosts(),
      },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const ended = once(child, 'exit').then(() => expect.fail('the hub ended before it was ready'))
    const [line] = await Promise.race([once(createInterface(child.stdout!), 'line'), ended])
    return JSON.parse(String(line)) as Ready
  }

  async function kill(): Promise<void> {
    const exit = once(child!, 'exit')
    child!.kill('SIGKILL')
    await exit
    child = undefined
  }

  const stateOf = async ({ payload }: Payment): Promise<string | undefined> => {
    const sql = 'SELECT state FROM hub.payment_intent WHERE nonce = $1'
    const { nonce } = authorizationOf(payload)
    return (await database.pool.query<{ state: string }>(sql, [nonce])).rows[0]?.state
  }
  const balances = async (): Promise<[credits: number, held: number]> => {
    const { body } = await new HubClient({ baseUrl: next!.url, apiKey }).send('/v1/credits/balance')
    return [Number(body['balance_microdollars']), Number(body['reserved_microdollars'])]
  }
  let apiKey: string

  it('charges the payments that were taken, by MPP too, and releases the others', async () => {
    const first = await start()
    apiKey = first.apiKey
    const arrived = HOSTS.map((host) => {
      const { promise, resolve, reject } = Promise.withResolvers<Payment>()
      const paid = async ({ payment }: { payment: Payment }): Promise<void> => {
        const state = await stateOf(payment)
        if (state === 'signed') resolve(payment)
        else reject(new Error(`a signature was sent that is ${state} in the database`))
      }
      sellers.serve(host, { paid })
      return promise
    })
    const calls = HOSTS.map((host) =>
      ask(first.url, '/proxy/external', { key: apiKey, body: { url: `http://${host}/` } }),
    )
    const visited = Promise.withResolvers<void>()
    sellers.serve(AGAIN, { paid: () => visited.resolve() })
    const askAgain = (url: string, host = AGAIN) =>
      ask(url, '/proxy/external', {
        key: apiKey,
        body: { url: `http://${host}/` },
        headers: { 'idempotency-key': host },
      })
    const credentials = () => mpp.requests.flatMap(({ authorization }) => authorization ?? [])
    mpp.act = 'hang'
    const lost = Promise.allSettled([...calls, askAgain(first.url), askAgain(first.url, MPP)])
    const [taken, kept] = await Promise.all(arrived)
    await visited.promise
    await eventually(async () => credentials().length === 1)
    await kill()
    for (const { status } of await lost) expect(status).to.equal('rejected')

    next = await startHub({
      config: {
        ...readConfig({ HUB_SANDBOX_HOSTS: sandboxHosts() }),
        dataDir,
        port: 0,
        databaseUrl: database.url,
        cluster: TEST_CLUSTER,
        jobs: false,
      },
      loadParts: async () => ({
        plugins: [],
        privileged,
        startJobs: () => expect.fail('no jobs'),
      }),
      log: createLog('silent'),
    })
    const { hub, sandbox } = next
    const { rpcUrl, money } = sandbox!
    const resolves = async (): Promise<void> => {
      await expireHolds(hub.pool, hub.ledger)
      await resolvePayments(hub.paymentDeps, 0)
    }
    await resolves()
    const [one, three, four] = [Number(PRICE), Number(3n * PRICE), Number(4n * PRICE)]
    expect(await balances()).to.deep.equal([Number(CREDITS) - four, four])

    const before = await money.chain.balanceOf(money.spend.address)
    sellers.facilitator = money.facilitator
    // As if some seconds had passed: the old process is gone, and the new one is steady.
    await hub.pool.query(
      `WITH old AS (DELETE FROM hub.process
         WHERE steady_since < (SELECT max(steady_since) FROM hub.process))
       UPDATE hub.process SET steady_since = now() - interval '1 hour'
       WHERE steady_since = (SELECT max(steady_since) FROM hub.process)`,
    )
    sellers.serve(AGAIN)
    const again = await untilOver(() => askAgain(next!.url))
    expect([again.status, again.text], 'delivered by the same payment').to.deep.equal([
      200,
      'goods',
    ])
    const nonces = sellers.visits
      .filter(({ host }) => host === AGAIN)
      .flatMap(({ payment }) => (payment ? authorizationOf(payment.payload).nonce : []))
    expect([nonces.length, new Set(nonces).size]).to.deep.equal([2, 1])
    expect(await balances()).to.deep.equal([Number(CREDITS) - four, three])
    mpp.act = 'sell'
    const unsent = await untilOver(() => askAgain(next!.url, MPP))
    expect([unsent.status, unsent.body['code']]).to.deep.equal([502, 'upstream_error'])
    expect(unsent.body['payment']).to.include({ state: 'unresolved' })
    expect(credentials(), 'not sent again').to.have.length(1)
    expect(await balances()).to.deep.equal([Number(CREDITS) - four, three])
    const late = await request(`http://127.0.0.1:${mpp.port}/`, {
      headers: { authorization: credentials()[0]!, host: MPP },
    })
    expect(late.statusCode, 'settled by the seller').to.equal(200)
    await late.body.dump()
    expect(await sellers.settle(taken!)).to.have.property('success', true)
    await resolves()
    expect(await balances()).to.deep.equal([Number(CREDITS) - four, one])
    await callRpc(rpcUrl, 'evm_increaseTime', [120])
    await callRpc(rpcUrl, 'evm_mine', [])
    expect(await sellers.settle(kept!)).to.have.property('success', false)
    await resolves()
    expect(await balances()).to.deep.equal([Number(CREDITS) - three, 0])
    expect([await stateOf(taken!), await stateOf(kept!)]).to.deep.equal(['confirmed', 'unused'])
    const { chain, spend } = money
    expect(await chain.balanceOf(SHOP)).to.equal(3n * PRICE)
    expect(before - (await chain.balanceOf(spend.address))).to.equal(3n * PRICE)
    expect((await verifyLedger(hub.pool)).ok).to.equal(true)
  })
})
