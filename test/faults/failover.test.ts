import { expect } from 'chai'
import { Client } from 'pg'
import { elapsedMs, sleep } from '../../core/clock.ts'
import { violations } from './bank/checker.ts'
import { crash, emptyDatabase } from './bank/round.ts'
import { BankWorkers } from './bank/workers.ts'
import { settleDown, Workload } from './bank/workload.ts'
import { openBank } from './banks/index.ts'
import { openLedgerBank } from './banks/ledger.ts'
import { Cluster } from './rig/cluster.ts'
import { Proxy } from './rig/proxy.ts'

const AGENTS = 30
const CALLERS = 96
const WAIT_MS = 20_000

/** Primary with a standby, the network between them, and a workload on the primary. */
class ReplicatedBank {
  readonly #primary: Cluster
  readonly #standby: Cluster
  readonly #link: Proxy
  readonly #settings: Readonly<Record<string, string>>
  readonly #bank: Parameters<typeof openBank>[0]
  readonly workers: BankWorkers
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
    this.workers = new BankWorkers(bank, 4)
    this.#workload = new Workload(this.workers, AGENTS)
  }

  static async start(settings: Readonly<Record<string, string>>): Promise<ReplicatedBank> {
    const primary = await Cluster.create()
    const link = await Proxy.open()
    await primary.start()
    const bank = await openLedgerBank(await emptyDatabase(primary, 'bank'), AGENTS)
    await primary.stop()
    const standby = await primary.standby(link, 'second')
    const pair = new ReplicatedBank(primary, standby, link, settings, bank)
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

  /** Cuts the standby off. Returns the number of responses in the next two seconds. */
  async partition(): Promise<number> {
    this.#link.freeze()
    return this.responsesInTwoSeconds()
  }

  async responsesInTwoSeconds(): Promise<number> {
    await sleep(500) // responses already in transit
    const before = this.workers.responses
    await sleep(2_000)
    return this.workers.responses - before
  }

  async crash(): Promise<void> {
    await crash(this.#primary, this.#settings)
    this.#link.target = this.#primary.port
  }

  async heal(): Promise<void> {
    this.#link.thaw()
    await this.untilServed()
  }

  /** Kills the primary permanently and promotes the standby. */
  async failOver(): Promise<void> {
    await this.#primary.kill()
    const client = new Client(this.#standby.url)
    await client.connect()
    await client.query('SELECT pg_promote()')
    await client.end()
    this.#primary.proxy.target = this.#standby.port
    await this.untilServed()
  }

  /** Waits for the next response to a caller. */
  async untilServed(): Promise<void> {
    const before = this.workers.responses
    for (const end = elapsedMs() + WAIT_MS; elapsedMs() < end; await sleep(50)) {
      if (this.workers.responses > before) return
    }
    throw new Error('callers receive no responses')
  }

  async check(label: string): Promise<readonly string[]> {
    await sleep(1_000)
    await this.#workload.finish()
    const bank = openBank(this.#bank)
    await settleDown(bank)
    const state = await bank.audit()
    await bank.close()
    const found = [...this.workers.errors.slice(0, 5), ...violations(this.#workload.records, state)]
    process.stdout.write(
      `      ${this.workers.responses} operations acknowledged; ${label}\n` +
        found.map((each) => `      found: ${each}\n`).join(''),
    )
    return found
  }

  async remove(): Promise<void> {
    await this.workers.stop()
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
      throw new Error('the standby does not replicate')
    } finally {
      await client.end()
    }
  }
}

describe('Failover to a standby that was cut off', () => {
  let pair: ReplicatedBank | undefined
  afterEach(async () => {
    await pair?.remove()
    pair = undefined
  })

  it('loses no acknowledged step with synchronous replication', async () => {
    pair = await ReplicatedBank.start({ synchronous_standby_names: '*' })
    await sleep(2_000)
    expect(await pair.partition(), 'responses while the standby was cut off').to.equal(0)
    // Waiting transactions are committed on the primary; a replay must not be acknowledged yet.
    await pair.crash()
    expect(await pair.responsesInTwoSeconds(), 'responses of the restarted primary').to.equal(0)
    await pair.heal()
    await sleep(1_000)
    expect(await pair.partition(), 'responses while cut off again').to.equal(0)
    await pair.failOver()
    expect(await pair.check('one crash, one failover')).to.deep.equal([])
  })

  it('loses acknowledged steps with asynchronous replication, as the checker reports', async () => {
    pair = await ReplicatedBank.start({})
    await sleep(1_000)
    expect(await pair.partition(), 'responses while the standby was cut off').to.be.above(0)
    await pair.failOver()
    expect((await pair.check('one failover')).join('\n')).to.match(/acknowledged and lost/)
  })
})
