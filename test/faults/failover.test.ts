import { expect } from 'chai'
import { Client } from 'pg'
import { elapsedMs, sleep } from '../../core/clock.ts'
import { violations } from './bank/checker.ts'
import { crash, emptyDatabase } from './bank/round.ts'
import { Tellers } from './bank/tellers.ts'
import { settleDown, Workload } from './bank/workload.ts'
import { openBank } from './banks/index.ts'
import { openLedgerBank } from './banks/ledger.ts'
import { Cluster } from './rig/cluster.ts'
import { Proxy } from './rig/proxy.ts'

const AGENTS = 30
const CALLERS = 96
const WAIT_MS = 20_000

/** A primary with its standby, a network between the two, and a workload on the primary. */
class Pair {
  readonly #primary: Cluster
  readonly #standby: Cluster
  readonly #link: Proxy
  readonly #settings: Readonly<Record<string, string>>
  readonly #bank: Parameters<typeof openBank>[0]
  readonly tellers: Tellers
  readonly #workload: Workload

  private constructor(
    primary: Cluster,
    standby: Cluster,
    link: Proxy,
    settings: Readonly<Record<string, string>>,
    bank: Parameters<typeof openBank>[0],
  ) {
    this.#primary = primary
    this.#standby = standby
    this.#link = link
    this.#settings = settings
    this.#bank = bank
    this.tellers = new Tellers(bank, 4)
    this.#workload = new Workload(this.tellers, AGENTS)
  }

  static async start(settings: Readonly<Record<string, string>>): Promise<Pair> {
    const primary = await Cluster.create()
    const link = await Proxy.open()
    await primary.start()
    const bank = await openLedgerBank(await emptyDatabase(primary, 'bank'), AGENTS)
    await primary.stop()
    const standby = await primary.standby(link, 'second')
    const pair = new Pair(primary, standby, link, settings, bank)
    try {
      await primary.start(settings)
      link.target = primary.port
      await standby.start()
      await pair.#untilStreaming()
      await pair.#workload.start(CALLERS)
      return pair
    } catch (error) {
      await pair.remove()
      throw error
    }
  }

  /** The standby hears nothing more. Gives how many answers callers got in a while after that. */
  async partition(): Promise<number> {
    this.#link.freeze()
    return this.answersInAWhile()
  }

  async answersInAWhile(): Promise<number> {
    await sleep(500) // what was on its way
    const { answers } = this.tellers
    await sleep(2_000)
    return this.tellers.answers - answers
  }

  async crash(): Promise<void> {
    await crash(this.#primary, this.#settings)
    this.#link.target = this.#primary.port
  }

  async heal(): Promise<void> {
    this.#link.thaw()
    await this.untilServed()
  }

  /** The primary is gone for good; the standby takes its place. */
  async failOver(): Promise<void> {
    await this.#primary.kill()
    const client = new Client(this.#standby.url)
    await client.connect()
    await client.query('SELECT pg_promote()')
    await client.end()
    this.#primary.proxy.target = this.#standby.port
    await this.untilServed()
  }

  /** Waits for an answer that callers get from now on. */
  async untilServed(): Promise<void> {
    const { answers } = this.tellers
    for (const end = elapsedMs() + WAIT_MS; elapsedMs() < end; await sleep(50)) {
      if (this.tellers.answers > answers) return
    }
    throw new Error('callers are not served')
  }

  async judge(what: string): Promise<readonly string[]> {
    await sleep(1_000)
    await this.#workload.finish()
    const bank = openBank(this.#bank)
    await settleDown(bank)
    const books = await bank.audit()
    await bank.close()
    const found = [...this.tellers.faults.slice(0, 5), ...violations(this.#workload.told, books)]
    process.stdout.write(
      `      ${this.tellers.answers} operations acknowledged; ${what}\n` +
        found.map((each) => `      found: ${each}\n`).join(''),
    )
    return found
  }

  async remove(): Promise<void> {
    await this.tellers.dismiss()
    await this.#standby.remove()
    await this.#primary.remove()
    await this.#link.close()
  }

  async #untilStreaming(): Promise<void> {
    const client = new Client(this.#primary.url)
    await client.connect()
    try {
      for (const end = elapsedMs() + WAIT_MS; elapsedMs() < end; await sleep(50)) {
        const { rowCount } = await client.query(
          `SELECT FROM pg_stat_replication WHERE state = 'streaming'`,
        )
        if (rowCount === 1) return
      }
      throw new Error('the standby does not follow')
    } finally {
      await client.end()
    }
  }
}

/** Case A073. */
describe('Failover while the standby is cut off', () => {
  let pair: Pair | undefined
  afterEach(async () => {
    await pair?.remove()
    pair = undefined
  })

  it('of a synchronous standby loses nothing that was acknowledged', async () => {
    pair = await Pair.start({ synchronous_standby_names: '*' })
    await sleep(2_000)
    expect(await pair.partition(), 'answers while the standby was cut off').to.equal(0)
    // What waited is committed on the primary by now; a repetition may not be told so yet.
    await pair.crash()
    expect(await pair.answersInAWhile(), 'answers of the restarted primary').to.equal(0)
    await pair.heal()
    await sleep(1_000)
    expect(await pair.partition(), 'answers while cut off again').to.equal(0)
    await pair.failOver()
    expect(await pair.judge('one crash, one failover')).to.deep.equal([])
  })

  it('of an asynchronous standby loses some, and the checker says so', async () => {
    pair = await Pair.start({})
    await sleep(1_000)
    expect(await pair.partition(), 'answers while the standby was cut off').to.be.above(0)
    await pair.failOver()
    expect((await pair.judge('one failover')).join('\n')).to.match(/acknowledged and lost/)
  })
})
