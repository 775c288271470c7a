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
import { ask, type Told } from '../../support/ask.ts'
import type { TestAgent, TestHub } from '../../support/hub.ts'
import { useHub } from '../../support/suite.ts'
import {
  type BookPorts,
  type Books,
  booksOf,
  change,
  expectConserved,
  expectCovered,
} from './books.ts'
import { Sellers, SHOP, THIEF } from './sellers.ts'

export interface StageOptions {
  /** Names of sellers. */
  readonly hosts?: readonly string[]
  /** Further hosts by their ports on this machine; read when the stage is set. */
  readonly ports?: ReadonlyMap<string, number>
  /** Addresses, beside those of shop and thief, that sellers have paid. */
  readonly wallets?: readonly Hex[]
  readonly plugins?: readonly Plugin[]
  readonly config?: Partial<Config>
}

/** What an agent's money came to, in a test that gave it its credits. */
export interface Standing {
  readonly credits: bigint
  readonly held: bigint
  /** Payments that were signed for its calls. */
  readonly signed: number
  /** What all sellers of the test got on the chain. */
  readonly paid: bigint
}

const CREDITS = usd('1')
const TRIES = 200
const PAUSE_MS = 20
/** Beyond the life of any payment that the hub signs, and the margin after it. */
const LONG_SECONDS = 120

/**
 * A whole hub, sellers, and the clocks of hub and chain, which only a test moves: no job runs but
 * when it is called. After each test all payments are resolved, and the money is counted.
 */
export class Stage {
  readonly sellers: Sellers
  readonly #hub: () => TestHub
  readonly #wallets: readonly Hex[]
  readonly #time: { ahead: number }
  #start: Books | undefined
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

  /** The time of the hub, in which that of the chain moves along. */
  get clock(): Clock {
    return clockOf(this.#time)
  }

  /** An agent with credits. */
  async agent(credits: bigint = CREDITS): Promise<TestAgent> {
    const agent = await this.hub.agent()
    if (credits > 0n) await this.hub.credit(agent.keyId, credits)
    this.#granted += credits
    return agent
  }

  /** Calls a seller through the hub, and pays from the agent's credits. */
  buys(
    agent: TestAgent,
    request: string | object,
    headers: Record<string, string> = {},
  ): Promise<Told> {
    const body = typeof request === 'string' ? { url: request } : request
    return ask(this.hub.url, '/proxy/external', { key: agent.apiKey, body, headers })
  }

  /** A wallet with USDC, and no key. */
  async payer(usdc: bigint = CREDITS): Promise<LocalAccount> {
    const account = privateKeyToAccount(generatePrivateKey())
    if (usdc > 0n) await fund(this.hub.sandbox!.rpcUrl, account.address, { usdc })
    return account
  }

  /** What the agent's money is, each member that `wanted` names. */
  async expects({ apiKey, keyId }: TestAgent, wanted: Partial<Standing>): Promise<void> {
    const { body } = await ask(this.hub.url, '/v1/credits/balance', { key: apiKey })
    const { rows } = await this.hub.hub.pool.query<{ signed: number }>(
      `SELECT count(*)::integer AS signed FROM hub.payment_intent i
       JOIN ledger.account a ON a.id = i.owner WHERE a.code = $1`,
      [creditsOf(keyId)],
    )
    const { sellersOnChain: paid } = await this.changed()
    const now: Standing = {
      credits: BigInt(String(body['balance_microdollars'])),
      held: BigInt(String(body['reserved_microdollars'])),
      signed: rows[0]!.signed,
      paid,
    }
    const shown = Object.keys(wanted).map((name) => [name, now[name as keyof Standing]])
    expect(Object.fromEntries(shown)).to.deep.equal(wanted)
  }

  /** One call of the sandbox's chain. */
  rpc(method: string, ...params: unknown[]): Promise<unknown> {
    return callRpc(this.hub.sandbox!.rpcUrl, method, params)
  }

  /** Moves the clocks of the hub and the chain, and makes a block. */
  async passes(seconds: number): Promise<void> {
    this.#time.ahead += seconds
    await this.rpc('evm_increaseTime', seconds)
    await this.rpc('evm_mine')
  }

  /** Runs once what runs every few seconds in a hub that is left alone. */
  async jobs(): Promise<void> {
    const { ports, pool, ledger } = this.hub.hub
    await resolvePayments(ports, 0)
    await expireHolds(pool, ledger)
  }

  /** Payments, to and by the hub, of which the end is not known yet. */
  async open(): Promise<number> {
    const { rows } = await this.hub.hub.pool.query<{ open: number }>(
      `SELECT (SELECT count(*) FROM hub.payment_claim
           WHERE state IN ('claimed', 'pending', 'settled'))::integer
         + (SELECT count(*) FROM hub.payment_intent
           WHERE state IN ('signed', 'unresolved', 'paid'))::integer AS open`,
    )
    return rows[0]!.open
  }

  /** Runs the jobs until the chain has told the end of all payments but so many. */
  async resolves(but = 0): Promise<void> {
    for (let tries = 0; tries < TRIES; tries++) {
      await this.jobs()
      if ((await this.open()) <= but) return
      await sleep(PAUSE_MS)
    }
    throw new Error(`${await this.open()} payments are still open`)
  }

  /** @internal */
  async begin(): Promise<void> {
    this.sellers.facilitator = this.hub.sandbox!.money.facilitator
    this.sellers.clear()
    this.#granted = 0n
    this.#start = await booksOf(this.#ports())
  }

  /** @internal What must be true at the end of every test, whatever happened in it. */
  async end(): Promise<void> {
    expectCovered(await this.changed())
    if ((await this.open()) > 0) await this.jobs()
    if ((await this.open()) > 0) {
      await this.passes(LONG_SECONDS)
      await this.resolves()
    }
    expectConserved(await this.changed(), this.#granted)
    const { status } = await ask(this.hub.url, '/health')
    expect(status).to.equal(200)
  }

  /** What became of everybody's money since the test began. */
  async changed(): Promise<Books> {
    return change(this.#start!, await booksOf(this.#ports()))
  }

  #ports(): BookPorts {
    const { hub, sandbox } = this.hub
    const { treasury, spend } = sandbox!.money
    const sellers = [...this.#wallets, sandbox!.wallets.seller.account.address]
    const wallets = { treasury, spend: spend.address, sellers }
    return { pool: hub.pool, chain: hub.ports.chain, wallets }
  }
}

const clockOf = (time: { readonly ahead: number }): Clock => ({
  now: () => new Date(systemClock.now().getTime() + time.ahead * 1_000),
})

/** A stage for all tests of a `describe`. */
export function useStage(options: StageOptions = {}): () => Stage {
  const { hosts = [], ports = new Map(), wallets = [], config = {}, ...rest } = options
  const time = { ahead: 0 }
  const names = new Map<string, number>()
  let stage: Stage
  let sellers: Sellers
  before(async () => {
    sellers = await Sellers.open()
    for (const host of hosts) names.set(host, sellers.port)
    for (const [host, port] of ports) names.set(host, port)
  })
  const own = { jobs: false, sandboxHosts: names, ...config }
  const hub = useHub({ ...rest, clock: clockOf(time), config: own })
  before(() => {
    stage = new Stage(sellers, hub, [SHOP, THIEF, ...wallets], time)
  })
  beforeEach(() => stage.begin())
  afterEach(async () => {
    await stage.end()
  })
  after(() => sellers.close())
  return () => stage
}
