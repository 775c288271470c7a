import { expect } from 'chai'
import type { LocalAccount } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import type { Clock } from '../../../core/clock.ts'
import { sleep, systemClock } from '../../../core/clock.ts'
import type { Config } from '../../../core/config.ts'
import { expireHolds } from '../../../core/ledger/expire.ts'
import { creditsOf } from '../../../core/ledger/postings.ts'
import { usd } from '../../../core/money.ts'
import type { Hex } from '../../../core/payments/chain/asset.ts'
import { resolvePayments } from '../../../core/payments/operations/resolve.ts'
import type { Plugin } from '../../../core/plugin/index.ts'
import { callRpc } from '../../../server/sandbox/rpc.ts'
import { fund } from '../../../server/sandbox/wallets.ts'
import { type ApiResponse, ask } from '../../support/ask.ts'
import type { TestAgent, TestHub } from '../../support/hub.ts'
import { useHub } from '../../support/suite.ts'
import {
  type Balances,
  type BalancesDeps,
  difference,
  expectConserved,
  expectCovered,
  readBalances,
} from './balances.ts'
import { Sellers, SHOP, THIEF } from './sellers.ts'

export interface AttackFixtureOptions {
  /** Host names of sellers. */
  readonly hosts?: readonly string[]
  /** Further hosts by their local ports; read before the first test. */
  readonly ports?: ReadonlyMap<string, number>
  /** Further addresses that sellers ask to be paid, besides shop and thief. */
  readonly wallets?: readonly Hex[]
  readonly plugins?: readonly Plugin[]
  readonly config?: Partial<Config>
}

/** Money of an agent since the test gave it credits. */
export interface AgentMoney {
  readonly credits: bigint
  readonly held: bigint
  /** Number of payments signed for its calls. */
  readonly signed: number
  /** Amount that all sellers of the test received on the chain. */
  readonly paid: bigint
}

const CREDITS = usd('1')
const ATTEMPTS_MAX = 200
const PAUSE_MS = 20
/** Longer than the validity of any payment that the hub signs plus the expiry margin. */
const EXPIRY_SECONDS = 120

/**
 * A complete hub with sellers, and clocks of hub and chain that only the test advances. Jobs run
 * only when called. After each test all payments are resolved and the money is counted.
 */
export class AttackFixture {
  readonly sellers: Sellers
  readonly #hub: () => TestHub
  readonly #wallets: readonly Hex[]
  readonly #time: { ahead: number }
  #start: Balances | undefined
  #granted = 0n

  constructor(
    sellers: Sellers,
    hub: () => TestHub,
    wallets: readonly Hex[],
    time: { ahead: number },
  ) {
    this.sellers = sellers
    this.#hub = hub
    this.#wallets = wallets
    this.#time = time
  }

  get hub(): TestHub {
    return this.#hub()
  }

  /** Clock of the hub, which advances together with the chain. */
  get clock(): Clock {
    return shiftedClock(this.#time)
  }

  /** Creates an agent with credits. */
  async createAgent(credits: bigint = CREDITS): Promise<TestAgent> {
    const agent = await this.hub.agent()
    if (credits > 0n) await this.hub.credit(agent.keyId, credits)
    this.#granted += credits
    return agent
  }

  /** Calls a seller through the hub, paid from the agent's credits. */
  buy(
    agent: TestAgent,
    request: string | object,
    headers: Record<string, string> = {},
  ): Promise<ApiResponse> {
    const body = typeof request === 'string' ? { url: request } : request
    return ask(this.hub.url, '/proxy/external', { key: agent.apiKey, body, headers })
  }

  /** Creates a wallet with USDC and without an API key. */
  async createPayer(usdc: bigint = CREDITS): Promise<LocalAccount> {
    const account = privateKeyToAccount(generatePrivateKey())
    if (usdc > 0n) await fund(this.hub.sandbox!.rpcUrl, account.address, { usdc })
    return account
  }

  /** Asserts the agent's money for each member of `wanted`. */
  async expectMoney({ apiKey, keyId }: TestAgent, wanted: Partial<AgentMoney>): Promise<void> {
    const { body } = await ask(this.hub.url, '/v1/credits/balance', { key: apiKey })
    const { rows } = await this.hub.hub.pool.query<{ signed: number }>(
      `SELECT count(*)::integer AS signed FROM hub.payment_intent i
       JOIN ledger.account a ON a.id = i.owner WHERE a.code = $1`,
      [creditsOf(keyId)],
    )
    const { sellersOnChain: paid } = await this.changes()
    const now: AgentMoney = {
      credits: BigInt(String(body['balance_microdollars'])),
      held: BigInt(String(body['reserved_microdollars'])),
      signed: rows[0]!.signed,
      paid,
    }
    const shown = Object.keys(wanted).map((name) => [name, now[name as keyof AgentMoney]])
    expect(Object.fromEntries(shown)).to.deep.equal(wanted)
  }

  /** Sends one request to the sandbox's chain. */
  rpc(method: string, ...params: unknown[]): Promise<unknown> {
    return callRpc(this.hub.sandbox!.rpcUrl, method, params)
  }

  /** Advances the clocks of hub and chain and mines a block. */
  async advance(seconds: number): Promise<void> {
    this.#time.ahead += seconds
    await this.rpc('evm_increaseTime', seconds)
    await this.rpc('evm_mine')
  }

  /** Runs once the jobs that a hub runs every few seconds. */
  async runJobs(): Promise<void> {
    const { paymentDeps: ports, pool, ledger } = this.hub.hub
    await resolvePayments(ports, 0)
    await expireHolds(pool, ledger)
  }

  /** Counts payments to and by the hub that are not final. */
  async countOpen(): Promise<number> {
    const { rows } = await this.hub.hub.pool.query<{ open: number }>(
      `SELECT (SELECT count(*) FROM hub.payment_claim
           WHERE state IN ('claimed', 'pending', 'settled'))::integer
         + (SELECT count(*) FROM hub.payment_intent
           WHERE state IN ('signed', 'unresolved', 'paid'))::integer AS open`,
    )
    return rows[0]!.open
  }

  /** Runs the jobs until at most `but` payments are open. */
  async resolveAll(but = 0): Promise<void> {
    for (let tries = 0; tries < ATTEMPTS_MAX; tries++) {
      await this.runJobs()
      if ((await this.countOpen()) <= but) return
      await sleep(PAUSE_MS)
    }
    throw new Error(`${await this.countOpen()} payments are still open`)
  }

  /** @internal */
  async begin(): Promise<void> {
    this.sellers.facilitator = this.hub.sandbox!.money.facilitator
    this.sellers.clear()
    this.#granted = 0n
    this.#start = await readBalances(this.#ports())
  }

  /** @internal Asserts what must hold at the end of every test. */
  async end(): Promise<void> {
    expectCovered(await this.changes())
    if ((await this.countOpen()) > 0) await this.runJobs()
    if ((await this.countOpen()) > 0) {
      await this.advance(EXPIRY_SECONDS)
      await this.resolveAll()
    }
    expectConserved(await this.changes(), this.#granted)
    const { status } = await ask(this.hub.url, '/health')
    expect(status).to.equal(200)
  }

  /** Reads how all balances changed since the test began. */
  async changes(): Promise<Balances> {
    return difference(this.#start!, await readBalances(this.#ports()))
  }

  #ports(): BalancesDeps {
    const { hub, sandbox } = this.hub
    const { treasury, spend } = sandbox!.money
    const sellers = [...this.#wallets, sandbox!.wallets.seller.account.address]
    const wallets = { treasury, spend: spend.address, sellers }
    return { pool: hub.pool, chain: hub.paymentDeps.chain, wallets }
  }
}

const shiftedClock = (time: { readonly ahead: number }): Clock => ({
  now: () => new Date(systemClock.now().getTime() + time.ahead * 1_000),
})

/** Provides a fixture for all tests of a `describe`. */
export function useAttackFixture(options: AttackFixtureOptions = {}): () => AttackFixture {
  const { hosts = [], ports = new Map(), wallets = [], config = {}, ...rest } = options
  const time = { ahead: 0 }
  const names = new Map<string, number>()
  let fixture: AttackFixture
  let sellers: Sellers
  before(async () => {
    sellers = await Sellers.open()
    for (const host of hosts) names.set(host, sellers.port)
    for (const [host, port] of ports) names.set(host, port)
  })
  const own = { sandboxHosts: names, ...config }
  const hub = useHub({ ...rest, clock: shiftedClock(time), config: own })
  before(() => {
    fixture = new AttackFixture(sellers, hub, [SHOP, THIEF, ...wallets], time)
  })
  beforeEach(() => fixture.begin())
  afterEach(async () => {
    await fixture.end()
  })
  after(() => sellers.close())
  return () => fixture
}
