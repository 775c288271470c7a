import { execFile } from 'node:child_process'
import { generateKeyPairSync, randomUUID } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { promisify } from 'node:util'
import { expect } from 'chai'
import type { Pool } from 'pg'
import { sleep } from '../../core/clock.ts'
import { createPool } from '../../core/db/pool.ts'
import { expireHolds } from '../../core/ledger/expire.ts'
import { Ledger } from '../../core/ledger/ledger.ts'
import { creditsOf } from '../../core/ledger/postings.ts'
import { verifyLedger } from '../../core/ledger/verify.ts'
import { ask } from '../support/ask.ts'
import { eventually } from '../support/eventually.ts'
import { skip } from '../support/skip.ts'
import { CREDITS, createFundedAgents, type FundedAgent, PRICE } from './rig/call-load.ts'
import { Cluster } from './rig/cluster.ts'
import { HubProcess } from './rig/hub.ts'
import { checkOut, nextVersion, previousVersion } from './rig/version.ts'

const run = promisify(execFile)

const AGENTS = 8
const CALLERS_EACH = 2
/** Time under load between two steps. */
const STEP_MS = 4_000
const RETRY_MS = 100
const ANSWER_MS = 60_000
const THIS_VERSION = '.'

/** Callers that send each request to one hub after the other until one has answered it. */
class FailoverLoad {
  /** Ids of charged calls, by request. */
  readonly answered = new Map<string, string>()
  readonly errors: string[] = []
  /** Attempts that another one had to repeat. */
  repeated = 0
  #hasEnded = false
  readonly #callers: readonly Promise<void>[]

  constructor(hubs: readonly HubProcess[], agents: readonly FundedAgent[]) {
    const all = agents.flatMap((agent) => Array.from({ length: CALLERS_EACH }, () => agent))
    this.#callers = all.map((agent, n) => this.#call(hubs, agent.apiKey, n))
  }

  async finish(): Promise<void> {
    this.#hasEnded = true
    await Promise.all(this.#callers)
  }

  async #call(hubs: readonly HubProcess[], key: string, first: number): Promise<void> {
    for (let n = first; !this.#hasEnded; n++) {
      const request = randomUUID()
      const headers = { 'Idempotency-Key': `"${request}"` }
      const question = { key, headers, body: { n } }
      for (let attempt = 0; !this.answered.has(request); attempt++) {
        const { url } = hubs[(n + attempt) % hubs.length]!
        const answer = await ask(url, '/proxy/slow/work', question).catch(() => undefined)
        if (answer?.status === 200) this.answered.set(request, String(answer.headers['x-call-id']))
        else if (attempt * RETRY_MS > ANSWER_MS) {
          this.errors.push(`request ${request}: ${answer?.status} ${answer?.text}`)
          break
        } else {
          this.repeated++
          await sleep(RETRY_MS)
        }
      }
    }
  }
}

/** Two hubs on one database, replaced one after the other while agents pay for calls. */
describe('two hubs under paid calls', function () {
  this.timeout(900_000)
  const folders: string[] = []
  let cluster: Cluster
  let hubs: readonly [HubProcess, HubProcess]
  let pool: Pool
  let ledger: Ledger

  beforeEach(async () => {
    cluster = await Cluster.create()
    await cluster.start()
    const key = generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'der' })
    const env = { HUB_SIGNING_KEY: key.toString('base64'), HUB_JOBS: 'off' }
    hubs = [await HubProcess.create(cluster.url, env), await HubProcess.create(cluster.url, env)]
    pool = createPool(cluster.url, { role: 'hub_finance', statementMs: 120_000 })
    ledger = new Ledger(pool)
  })
  afterEach(async () => {
    await pool?.end()
    for (const hub of hubs ?? []) await hub.remove()
    await cluster?.remove()
    for (const folder of folders.splice(0)) await rm(folder, { recursive: true })
  })

  const migrate = async (folder: string, ...args: string[]): Promise<string> => {
    const env = { PATH: process.env['PATH'], DATABASE_URL: cluster.url }
    const options = { cwd: folder, env }
    return (await run('npm', ['run', '-s', 'migrate', '--', ...args], options)).stdout
  }

  const replace = async (hub: HubProcess, folder: string): Promise<void> => {
    await hub.stop()
    await hub.start(folder)
    await sleep(STEP_MS)
  }

  /** Runs `steps` under load, and checks that it lost and doubled nothing. */
  async function underLoad(steps: () => Promise<void>): Promise<void> {
    const agents = await createFundedAgents(AGENTS, hubs[0], ledger)
    const load = new FailoverLoad(hubs, agents)
    await sleep(STEP_MS)
    try {
      await steps()
    } finally {
      await load.finish()
    }
    process.stdout.write(
      `      ${load.answered.size} calls answered, ${load.repeated} attempts repeated\n`,
    )
    expect(hubs.flatMap(({ errors }) => errors)).to.deep.equal([])
    expect(load.errors).to.deep.equal([])
    const { rows } = await pool.query<{ id: string; amount: bigint }>(
      'SELECT id, amount FROM ledger.journal WHERE kind = 2',
    )
    const charges = new Map(rows.map(({ id, amount }) => [id, amount]))
    expect(rows.length, 'charges').to.equal(charges.size).and.equal(load.answered.size)
    for (const call of load.answered.values()) expect(charges.get(call), call).to.equal(PRICE)
    await eventually(async () => {
      await expireHolds(pool, ledger)
      return (await pool.query('SELECT FROM ledger.open_hold LIMIT 1')).rowCount === 0
    })
    const left = await Promise.all(agents.map(({ keyId }) => ledger.balance(creditsOf(keyId))))
    const spent = PRICE * BigInt(charges.size)
    expect(left.reduce((sum, each) => sum + each, 0n)).to.equal(CREDITS * BigInt(AGENTS) - spent)
    const { checks } = await verifyLedger(pool)
    expect(checks.filter(({ bad }) => bad > 0n)).to.deep.equal([])
  }

  it('are upgraded from the previous version, one by one, and lose no call', async function () {
    const version = previousVersion()
    if (version === undefined) skip(this, 'needs the history of the repository')
    const previous = checkOut(version)
    folders.push(previous)
    for (const hub of hubs) await hub.start(previous)
    const plan = await migrate(THIS_VERSION, 'plan')
    if (/^contract /m.test(plan)) skip(this, `the upgrade needs a stop:\n${plan}`)
    await underLoad(async () => {
      await migrate(THIS_VERSION)
      await sleep(STEP_MS)
      for (const hub of hubs) await replace(hub, THIS_VERSION)
    })
    expect(await migrate(THIS_VERSION, 'plan')).to.equal('Nothing is pending.\n')
  })

  it('are upgraded to a version that expands the database, and downgraded again', async () => {
    const next = nextVersion()
    folders.push(next)
    for (const hub of hubs) await hub.start()
    await underLoad(async () => {
      await migrate(next)
      for (const hub of hubs) await replace(hub, next)
      for (const hub of hubs) await replace(hub, THIS_VERSION)
    })
    expect(await migrate(next, 'plan')).to.equal('Nothing is pending.\n')
  })
})
