import { expect } from 'chai'
import type { Pool } from 'pg'
import { elapsedMs, sleep } from '../../core/clock.ts'
import { createPool } from '../../core/db/pool.ts'
import { expireHolds } from '../../core/ledger/expire.ts'
import { Ledger } from '../../core/ledger/ledger.ts'
import { creditsOf } from '../../core/ledger/postings.ts'
import { verifyLedger } from '../../core/ledger/verify.ts'
import { crash } from './bank/round.ts'
import { CallLoad, CREDITS, createFundedAgents, type FundedAgent } from './rig/call-load.ts'
import { Cluster } from './rig/cluster.ts'
import { HubProcess } from './rig/hub.ts'
import { injectFaults, SECONDS } from './rig/inject-faults.ts'

const AGENTS = 16
const CALLERS_EACH = 3
const HOLDS_TIMEOUT_MS = 15_000
const SERVES_TIMEOUT_MS = 30_000
/** Minimum number of server kills, however long a start takes. */
const SERVER_KILLS = { alone: 6, withPostgres: 2 } as const

/** Paid calls over HTTP to the real server. */
describe(`The hub under ${SECONDS} s of paid calls`, function () {
  this.timeout(600_000)
  let cluster: Cluster
  let hub: HubProcess
  let pool: Pool
  let ledger: Ledger
  let agents: readonly FundedAgent[]

  before(async () => {
    cluster = await Cluster.create()
    await cluster.start()
    hub = await HubProcess.create(cluster.url)
    await hub.start()
    pool = createPool(cluster.url, { role: 'hub_finance', statementMs: 120_000 })
    ledger = new Ledger(pool)
    agents = await createFundedAgents(AGENTS, hub, ledger)
  })
  after(async () => {
    await pool?.end()
    await hub?.remove()
    await cluster.remove()
  })

  const restart = async (): Promise<void> => {
    await hub.kill()
    await hub.start()
  }

  it('settles every call answered with 200 once when the server is killed every 2 s', async () => {
    const before = await settled()
    const load = new CallLoad(hub, agents, CALLERS_EACH)
    const times = { kills: 0, served: 0 }
    const act = async (): Promise<void> => {
      times.kills++
      await restart()
      if (await serves(load)) times.served++
    }
    do await injectFaults(SECONDS, [{ pause: () => 2_000, act }])
    while (times.kills < SERVER_KILLS.alone)
    await load.finish()
    printReport(load, `${times.kills} kills of the server`)
    expect(times.served, 'kills after which it served again').to.equal(times.kills)
    await checkCharges(load, before)
  })

  it('keeps serving when PostgreSQL and the server are killed', async () => {
    const before = await settled()
    const load = new CallLoad(hub, agents, CALLERS_EACH)
    const times = { server: 0, postgres: 0, served: 0 }
    const act = async (): Promise<void> => {
      if (times.postgres % 4 === 3 && times.server < times.postgres / 4) {
        times.server++
        return restart()
      }
      times.postgres++
      await crash(cluster)
      if (await serves(load)) times.served++
    }
    do await injectFaults(SECONDS, [{ pause: () => 2_000, act }])
    while (times.server < SERVER_KILLS.withPostgres)
    await load.finish()
    printReport(load, `${times.postgres} kills of PostgreSQL, ${times.server} of the server`)
    expect(times.served, 'crashes after which it served again').to.equal(times.postgres)
    await checkCharges(load, before)
  })

  /** Returns true if a call succeeds within SERVES_TIMEOUT_MS. */
  async function serves({ charged }: CallLoad): Promise<boolean> {
    const before = charged.size
    for (const end = elapsedMs() + SERVES_TIMEOUT_MS; elapsedMs() < end; await sleep(50)) {
      if (charged.size > before) return true
    }
    return false
  }

  /** Returns the charges in the journal by call id. */
  async function settled(): Promise<Map<string, bigint>> {
    const { rows } = await pool.query<{ id: string; amount: bigint }>(
      'SELECT id, amount FROM ledger.journal WHERE kind = 2',
    )
    const charges = new Map(rows.map(({ id, amount }) => [id, amount]))
    expect(charges.size, 'one settlement for each call').to.equal(rows.length)
    return charges
  }

  async function checkCharges(load: CallLoad, before: ReadonlyMap<string, bigint>): Promise<void> {
    expect(hub.errors, 'unrequested exits of the server').to.deep.equal([])
    expect(load.errors).to.deep.equal([])
    expect([...load.problems.keys()], 'codes of problems').to.satisfy((codes: string[]) =>
      codes.every((code) => code === 'service_unavailable' || code === 'rate_limited'),
    )
    const charges = await settled()
    for (const [call, charged] of load.charged) {
      expect(charges.get(call), `acknowledged call ${call}`).to.equal(charged)
    }
    const unanswered = charges.size - before.size - load.charged.size
    const problems = [...load.problems.values()].reduce((sum, count) => sum + count, 0)
    expect(unanswered, 'charges without a response').to.be.within(0, load.lost + problems)
    await untilNoHolds()
    const spent = [...charges.values()].reduce((sum, amount) => sum + amount, 0n)
    const left = await Promise.all(agents.map(({ keyId }) => ledger.balance(creditsOf(keyId))))
    const total = left.reduce((sum, balance) => sum + balance, 0n)
    expect(total, 'credits that are left').to.equal(CREDITS * BigInt(agents.length) - spent)
    const { checks } = await verifyLedger(pool)
    expect(checks.filter(({ bad }) => bad > 0n)).to.deep.equal([])
  }

  /** Waits for the holds of interrupted calls, which expire after five seconds. */
  async function untilNoHolds(): Promise<void> {
    for (const end = elapsedMs() + HOLDS_TIMEOUT_MS; elapsedMs() < end; await sleep(250)) {
      await expireHolds(pool, ledger)
      const { rowCount } = await pool.query('SELECT FROM ledger.open_hold LIMIT 1')
      if (rowCount === 0) return
    }
    throw new Error('holds are still open')
  }
})

function printReport({ charged, lost, problems }: CallLoad, what: string): void {
  const codes = [...problems].map(([code, count]) => `${count} × ${code}`).join(', ')
  process.stdout.write(
    `      ${charged.size} calls acknowledged, ${lost} without a response, ` +
      `problems: ${codes || 'none'}; ${what}\n`,
  )
}
