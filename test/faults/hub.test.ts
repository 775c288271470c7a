import { expect } from 'chai'
import type { Pool } from 'pg'
import { elapsedMs, sleep } from '../../core/clock.ts'
import { createPool } from '../../core/db/pool.ts'
import { expireHolds } from '../../core/ledger/expire.ts'
import { Ledger } from '../../core/ledger/ledger.ts'
import { creditsOf } from '../../core/ledger/postings.ts'
import { verifyLedger } from '../../core/ledger/verify.ts'
import { crash } from './bank/round.ts'
import { Cluster } from './rig/cluster.ts'
import { HubProcess } from './rig/hub.ts'
import { CREDITS, type Shopper, Shopping, shoppers } from './rig/shoppers.ts'
import { SECONDS, torment } from './rig/torment.ts'

const SHOPPERS = 16
const CALLERS_EACH = 3
const HOLDS_MS = 15_000
const SERVES_MS = 30_000
/** At least, however long a start takes here. */
const SERVER_KILLS = { alone: 6, withPostgres: 2 } as const

/** Cases A069 and A070: paid calls through the doors of the real server. */
describe(`${SECONDS} s of paid calls`, function () {
  this.timeout(600_000)
  let cluster: Cluster
  let hub: HubProcess
  let pool: Pool
  let books: Ledger
  let agents: readonly Shopper[]

  before(async () => {
    cluster = await Cluster.create()
    await cluster.start()
    hub = await HubProcess.create(cluster.url)
    await hub.start()
    pool = createPool(cluster.url, { role: 'hub_app', statementMs: 120_000 })
    books = new Ledger(pool, { shards: 2 })
    agents = await shoppers(SHOPPERS, hub, books)
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

  it('kill -9 of the server every 2 s: what was answered 200 is settled once', async () => {
    const before = await settled()
    const shopping = new Shopping(hub, agents, CALLERS_EACH)
    const times = { kills: 0, served: 0 }
    const act = async (): Promise<void> => {
      times.kills++
      await restart()
      if (await serves(shopping)) times.served++
    }
    do await torment(SECONDS, [{ pause: () => 2_000, act }])
    while (times.kills < SERVER_KILLS.alone)
    await shopping.finish()
    tell(shopping, `${times.kills} kills of the server`)
    expect(times.served, 'kills after which it served again').to.equal(times.kills)
    await judge(shopping, before)
  })

  it('kill -9 of PostgreSQL and server: the loss of every connection does not end it', async () => {
    const before = await settled()
    const shopping = new Shopping(hub, agents, CALLERS_EACH)
    const times = { server: 0, postgres: 0, served: 0 }
    const act = async (): Promise<void> => {
      if (times.postgres % 4 === 3 && times.server < times.postgres / 4) {
        times.server++
        return restart()
      }
      times.postgres++
      await crash(cluster)
      if (await serves(shopping)) times.served++
    }
    do await torment(SECONDS, [{ pause: () => 2_000, act }])
    while (times.server < SERVER_KILLS.withPostgres)
    await shopping.finish()
    tell(shopping, `${times.postgres} kills of PostgreSQL, ${times.server} of the server`)
    expect(times.served, 'crashes after which it served again').to.equal(times.postgres)
    await judge(shopping, before)
  })

  /** Whether a call is answered from now on. */
  async function serves({ charged }: Shopping): Promise<boolean> {
    const before = charged.size
    for (const end = elapsedMs() + SERVES_MS; elapsedMs() < end; await sleep(50)) {
      if (charged.size > before) return true
    }
    return false
  }

  /** Charges in the journal, by call id. */
  async function settled(): Promise<Map<string, bigint>> {
    const { rows } = await pool.query<{ id: string; amount: bigint }>(
      'SELECT id, amount FROM ledger.journal WHERE kind = 2',
    )
    const charges = new Map(rows.map(({ id, amount }) => [id, amount]))
    expect(charges.size, 'one settlement for each call').to.equal(rows.length)
    return charges
  }

  async function judge(shopping: Shopping, before: ReadonlyMap<string, bigint>): Promise<void> {
    expect(hub.faults, 'ends of the server').to.deep.equal([])
    expect(shopping.faults).to.deep.equal([])
    expect([...shopping.problems.keys()], 'codes of problems').to.satisfy((codes: string[]) =>
      codes.every((code) => code === 'service_unavailable' || code === 'rate_limited'),
    )
    const charges = await settled()
    for (const [call, charged] of shopping.charged) {
      expect(charges.get(call), `acknowledged call ${call}`).to.equal(charged)
    }
    const unanswered = charges.size - before.size - shopping.charged.size
    const troubles = [...shopping.problems.values()].reduce((sum, count) => sum + count, 0)
    expect(unanswered, 'charges without answer').to.be.within(0, shopping.lost + troubles)
    await untilNoHolds()
    const spent = [...charges.values()].reduce((sum, amount) => sum + amount, 0n)
    const left = await Promise.all(agents.map(({ keyId }) => books.balance(creditsOf(keyId))))
    const total = left.reduce((sum, balance) => sum + balance, 0n)
    expect(total, 'credits that are left').to.equal(CREDITS * BigInt(agents.length) - spent)
    const { checks } = await verifyLedger(pool)
    expect(checks.filter(({ bad }) => bad > 0n)).to.deep.equal([])
  }

  /** Holds of calls that a kill cut short live five seconds. */
  async function untilNoHolds(): Promise<void> {
    for (const end = elapsedMs() + HOLDS_MS; elapsedMs() < end; await sleep(250)) {
      await expireHolds(pool, books)
      const { rowCount } = await pool.query('SELECT FROM ledger.open_hold LIMIT 1')
      if (rowCount === 0) return
    }
    throw new Error('holds are still open')
  }
})

function tell({ charged, lost, problems }: Shopping, what: string): void {
  const codes = [...problems].map(([code, count]) => `${count} × ${code}`).join(', ')
  process.stdout.write(
    `      ${charged.size} calls acknowledged, ${lost} without an answer, ` +
      `problems: ${codes || 'none'}; ${what}\n`,
  )
}
