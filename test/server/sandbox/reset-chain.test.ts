import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { cp, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { HubClient } from '../../../core/client/index.ts'
import { ConfigError, readConfig } from '../../../core/config.ts'
import { prefixedId } from '../../../core/ids.ts'
import { creditsOf, earningsOf } from '../../../core/ledger/postings.ts'
import { verifyLedger } from '../../../core/ledger/verify.ts'
import { createLog } from '../../../core/log.ts'
import { usd } from '../../../core/money.ts'
import { USDC_BASE } from '../../../core/payments/chain/asset.ts'
import { resolvePayments } from '../../../core/payments/operations/resolve.ts'
import { startPayouts } from '../../../core/payments/payouts/start.ts'
import { reconcile } from '../../../core/reconciliation/reconcile.ts'
import { startJobs } from '../../../jobs/index.ts'
import { reconcileChain } from '../../../jobs/reconcile-chain.ts'
import { plugins, privileged } from '../../../plugins/index.ts'
import { type RunningHub, startHub } from '../../../server/boot/start.ts'
import { fund } from '../../../server/sandbox/wallets.ts'
import { realSockets } from '../../core/egress/fixture.ts'
import { LOOSE_RULES, newId } from '../../core/payments/payouts/fixture.ts'
import { ask } from '../../support/ask.ts'
import { earn } from '../../support/earn.ts'
import { eventually } from '../../support/eventually.ts'
import { type FreshDatabase, freshDatabase } from '../../support/postgres.ts'

type Agent = Awaited<ReturnType<HubClient['register']>>

describe('a sandbox whose chain and ledger do not belong together', () => {
  realSockets()
  let database: FreshDatabase
  let dataDir: string
  let running: RunningHub | undefined
  let account: ReturnType<typeof privateKeyToAccount>
  let agent: Agent

  beforeEach(async () => {
    database = await freshDatabase()
    dataDir = await mkdtemp(join(tmpdir(), 'agenthub-test-'))
    account = privateKeyToAccount(generatePrivateKey())
  })
  afterEach(async () => {
    await running?.stop()
    running = undefined
    await database.drop()
    await rm(dataDir, { recursive: true, force: true })
  })

  async function start(resetsChain = false): Promise<RunningHub> {
    await running?.stop()
    running = undefined
    const { url: databaseUrl } = database
    running = await startHub({
      config: { ...readConfig({}), dataDir, port: 0, databaseUrl, jobs: false },
      loadParts: async () => ({ plugins, privileged, startJobs }),
      log: createLog('silent'),
      resetsChain,
    })
    return running
  }
  const stop = async (): Promise<void> => {
    await running!.stop()
    running = undefined
  }
  const chainDir = () => join(dataDir, 'chain')
  const depsOf = ({ hub, sandbox }: RunningHub) => {
    const { treasury, spend } = sandbox!.wallets
    const wallets = { treasury: treasury.account.address, spend: spend.account.address }
    return { ...hub.paymentDeps, pool: hub.pool, wallets }
  }
  const external = (path: string) =>
    ask(running!.url, '/proxy/external', {
      key: agent.apiKey,
      body: { url: `${running!.sandbox!.sellerUrl}${path}` },
    })

  /** Registers an agent that buys $5 of credits, and makes a paid and an external call. */
  async function buy(hub: RunningHub): Promise<void> {
    await fund(hub.sandbox!.rpcUrl, account.address, { usdc: usd('20') })
    const client = new HubClient({ baseUrl: hub.url, wallet: { account, sandbox: true } })
    agent = await client.register()
    await agent.client.purchase(usd('5'))
    expect((await external('/weather?city=Oslo')).status).to.equal(200)
    await settle(hub)
  }
  async function settle(hub: RunningHub): Promise<void> {
    await eventually(async () => (await resolvePayments(depsOf(hub), 0)) === 0)
    await reconcileChain({ ...depsOf(hub), log: createLog('silent') })
  }
  /** Adds payments whose outcome the chain has not shown yet: received ones and a payout. */
  async function leaveOpen({ hub, sandbox }: RunningHub): Promise<void> {
    const hex = (bytes: number) => `0x${randomBytes(bytes).toString('hex')}`
    const { treasury, spend } = sandbox!.wallets
    for (const transaction of [hex(32), null]) {
      await database.pool.query(
        `INSERT INTO hub.payment_claim (network, asset, payer, nonce, id, purpose, pay_to, payee,
           commission_bps, request_hash, amount, state, transaction, valid_before)
         VALUES ($1, $2, $3, $4, $9, 'credits', $5, $6, 0, '\\x00', $7, 'pending',
           $8, now() + interval '10 minutes')`,
        [
          USDC_BASE.network,
          USDC_BASE.address.toLowerCase(),
          hex(20),
          hex(32),
          treasury.account.address.toLowerCase(),
          creditsOf(agent.keyId),
          usd('1'),
          transaction,
          newId(),
        ],
      )
    }
    const provider = { id: 'acme', owner: prefixedId('prn'), wallet: hex(20) }
    await database.pool.query(
      `WITH owner AS (INSERT INTO hub.principal (id, wallet_address, shard) VALUES ($2, $3, 0)),
         made AS (INSERT INTO hub.provider (id, owner) VALUES ($1, $2))
       INSERT INTO hub.payout_address (provider, address, set_by, nonce, effective_at)
       VALUES ($1, $3, $2, $1, now())`,
      [provider.id, provider.owner, provider.wallet],
    )
    const earnings = await hub.ledger.open(earningsOf(provider.id, 'svc', false), 'USDC')
    await earn(hub.ledger, { ...earnings, shard: 0 }, usd('3'))
    const paying = { ...hub.paymentDeps, pool: hub.financePool, account: spend.account }
    const settle = () => Promise.reject(new Error('nothing is sent'))
    const minimum = usd('1')
    expect(await startPayouts({ ...paying, settle, minimum, rules: LOOSE_RULES })).to.equal(1)
  }

  const openHolds = async (): Promise<number> => {
    const { rows } = await database.pool.query<{ open: number }>(
      'SELECT count(*)::integer AS open FROM ledger.open_hold',
    )
    return rows[0]!.open
  }

  /** Everything that a user would try afterwards. */
  async function expectSound(hub: RunningHub): Promise<void> {
    expect(hub.notice).to.match(/^The sandbox has a new chain/)
    expect(await verifyLedger(hub.hub.pool)).to.have.property('ok', true)
    expect(await openHolds()).to.equal(0)
    const check = async () => {
      for (const { chain, ledger, pending, exceptions } of await reconcile(depsOf(hub))) {
        expect({ chain, pending, exceptions }).to.deep.equal({
          chain: ledger,
          pending: [],
          exceptions: [],
        })
      }
    }
    await check()
    await fund(hub.sandbox!.rpcUrl, account.address, { usdc: usd('20') })
    const client = new HubClient({ baseUrl: hub.url, wallet: { account, sandbox: true } })
    agent = await client.register()
    await agent.client.purchase(usd('5'))
    expect((await external('/weather?city=Rome')).status).to.equal(200)
    const { source } = await client.call('echo', '/say', { words: 'x' }, { payUpTo: usd('1') })
    expect(source).to.equal('x402')
    await settle(hub)
    await check()
    expect(await verifyLedger(hub.hub.pool)).to.have.property('ok', true)
  }

  it('says so after a restore of the chain, and continues on a new one', async () => {
    await buy(await start())
    await stop()
    await cp(join(chainDir(), 'chain.json'), join(dataDir, 'old.json'))
    const later = await start()
    expect(later.notice).to.equal(undefined)
    await buy(later)
    const unresolved = await external('/weather?fault=failing')
    expect(unresolved.body['payment']).to.include({ state: 'unresolved' })
    expect(await openHolds()).to.equal(1)
    await leaveOpen(later)
    const credits = await later.hub.ledger.balance(creditsOf(agent.keyId))
    await stop()
    await cp(join(dataDir, 'old.json'), join(chainDir(), 'chain.json'))
    const { notice = '' } = await start()
    expect(notice).to.match(/^WARNING: .*do not belong together/)
    expect(notice).to.include('npm start -- --reset-chain')
    const key = agent.keyId
    const reset = await start(true)
    expect(reset.notice).to.include('Closed: 2 received and 1 sent payments, 1 payouts.')
    const { ledger } = reset.hub
    // The price of the unresolved call, and the payment with a known transaction.
    expect(await ledger.balance(creditsOf(key))).to.equal(credits + 10_000n + usd('1'))
    expect(await ledger.balance(earningsOf('acme', 'svc', false))).to.equal(usd('3'))
    expect(await ledger.balance('liabilities:payouts:in-transit')).to.equal(0n)
    expect(await readdir(dataDir)).to.satisfy((names: readonly string[]) =>
      names.some((name) => name.startsWith('chain-until-')),
    )
    const { rows } = await database.pool.query<{ closed: unknown }>(
      `SELECT after -> 'closed' AS closed FROM hub.audit WHERE act = 'chain.reset'`,
    )
    expect(rows).to.deep.equal([{ closed: { received: 2, sent: 1, payouts: 1 } }])
    await expectSound(reset)
    expect((await start()).notice).to.equal(undefined)
  })

  it('never happens to real money', async () => {
    const key = generatePrivateKey
    const env = {
      DATABASE_URL: database.url,
      HUB_BASE_URL: 'https://hub.acme.com',
      RPC_URL: 'https://rpc.acme.com',
      TREASURY_ADDRESS: account.address,
      SPEND_WALLET_KEY: key(),
      GAS_WALLET_KEY: key(),
      HUB_ETH_PRICE: '3000',
      HUB_SIGNING_KEY: generateKeyPairSync('ed25519')
        .privateKey.export({ format: 'der', type: 'pkcs8' })
        .toString('base64'),
    }
    const config = readConfig(env)
    const log = createLog('silent')
    const loadParts = async () => ({ plugins, privileged, startJobs })
    const failure = startHub({ config, loadParts, log, resetsChain: true })
    expect(await failure.catch((error: unknown) => error)).to.be.instanceOf(ConfigError)
    const { rows } = await database.pool.query("SELECT FROM hub.audit WHERE act = 'chain.reset'")
    expect(rows).to.deep.equal([])
  })

  it('says so after the loss of the chain, and continues on a new one', async () => {
    const hub = await start()
    await buy(hub)
    await stop()
    await rm(chainDir(), { recursive: true })
    expect((await start()).notice).to.match(/does not have the (block|newest payment)/)
    await reconcileChain({ ...depsOf(running!), log: createLog('silent') }).catch(() => {})
    await expectSound(await start(true))
  })

  it('says so after the loss of the ledger, and continues on a new one', async () => {
    await buy(await start())
    await stop()
    await database.drop()
    database = await freshDatabase()
    expect((await start()).notice).to.match(/The treasury wallet holds \$5\S* on the chain/)
    await reconcileChain({ ...depsOf(running!), log: createLog('silent') })
    await expectSound(await start(true))
  })
})
