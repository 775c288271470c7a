import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect } from 'chai'
import { HubClient, type HubResponse } from '../../core/client/index.ts'
import { sleep } from '../../core/clock.ts'
import { createPool } from '../../core/db/pool.ts'
import { verifyLedger } from '../../core/ledger/verify.ts'
import { usd } from '../../core/money.ts'
import { type ApiResponse, ask } from '../support/ask.ts'
import { COMPILED_CODE } from '../support/compiled-code.ts'
import { eventually } from '../support/eventually.ts'
import { postmasterOf } from '../support/postmaster.ts'

interface Ready {
  readonly url: string
  readonly databaseUrl: string
  readonly apiKey: string
}

const CALLS = 200
const KILL_AFTER = 80
const PROGRAM = new URL('../support/hub-process.ts', import.meta.url).pathname

/** Starts the hub as a process and waits until it is ready. */
async function start(
  dataDir: string,
  stderr: 'inherit' | 'ignore' = 'inherit',
  port = '0',
): Promise<{ child: ChildProcess; ready: Ready }> {
  const child = spawn(process.execPath, [PROGRAM], {
    env: {
      PATH: '/usr/bin:/bin',
      NODE_COMPILE_CACHE: COMPILED_CODE,
      HUB_DATA_DIR: dataDir,
      HUB_PORT: port,
    },
    stdio: ['ignore', 'pipe', stderr],
  })
  const lines = createInterface({ input: child.stdout })
  const [line] = await Promise.race([
    once(lines, 'line'),
    once(child, 'exit').then(([code]) => {
      throw new Error(`the hub ended with ${String(code)} before it was ready`)
    }),
  ])
  return { child, ready: JSON.parse(String(line)) as Ready }
}

const isGone = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return false
  } catch {
    return true
  }
}

describe('kill -9', function () {
  this.timeout(180_000)
  let dataDir: string
  let running: ChildProcess | undefined

  beforeEach(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'agenthub-killed-'))
  })
  afterEach(async () => {
    if (running && running.exitCode === null) {
      running.kill('SIGTERM')
      await once(running, 'exit')
    }
    await rm(dataDir, { recursive: true, force: true })
  })

  it('of the server during 200 calls loses or doubles no charge and leaves no hold', async () => {
    const first = await start(dataDir)
    running = first.child
    const acknowledged = await callUntilKilled(first)
    expect(acknowledged.length).to.be.within(KILL_AFTER, CALLS - 1)

    const second = await start(dataDir)
    running = second.child
    const pool = createPool(second.ready.databaseUrl, { max: 2, role: 'hub_app' })
    try {
      const { rows: settled } = await pool.query<{ id: string; amount: bigint }>(
        `SELECT id, amount FROM ledger.journal WHERE phase = 2 AND kind = 2`,
      )
      const charges = new Map(settled.map(({ id, amount }) => [id, amount]))
      expect(charges.size, 'one settlement for each call').to.equal(settled.length)
      for (const { callId, charged } of acknowledged) {
        expect(charges.get(callId ?? ''), `acknowledged call ${callId}`).to.equal(charged)
      }
      await sweptClean(pool)
      const { ok, checks } = await verifyLedger(pool)
      expect(
        ok,
        JSON.stringify(checks, (_, v) => (typeof v === 'bigint' ? `${v}` : v)),
      ).to.equal(true)
      const spent = settled.reduce((sum, { amount }) => sum + amount, 0n)
      const { body } = await new HubClient({
        baseUrl: second.ready.url,
        apiKey: second.ready.apiKey,
      }).balance()
      expect(BigInt(String(body['balance_microdollars']))).to.equal(5_000_000n - spent)
    } finally {
      await pool.end()
    }
  })

  it('of the server during keyed calls delays their responses, each charged once', async () => {
    const first = await start(dataDir)
    running = first.child
    const { url, apiKey } = first.ready
    const client = new HubClient({ baseUrl: url, apiKey, waitMs: 150_000 })
    let restarted: Promise<void> | undefined
    const restart = async () => {
      first.child.kill('SIGKILL')
      await once(first.child, 'exit')
      running = (await start(dataDir, 'inherit', new URL(url).port)).child
    }
    const makeCalls = async (caller: number): Promise<void> => {
      for (let n = 0; n < CALLS_OF_CALLER; n++) {
        const idempotencyKey = `caller-${caller}-${n}`
        const sent = client.call('slow', '/work', { n }, { idempotencyKey })
        if (n === CALLS_OF_CALLER / 2) restarted ??= restart()
        const { body, charged } = await sent
        expect([body, charged]).to.deep.equal([{ n }, usd('0.001')])
      }
    }
    await Promise.all(Array.from({ length: KEYED }, (_, caller) => makeCalls(caller)))
    await restarted
    const { body } = await client.balance()
    const spent = BigInt(KEYED * CALLS_OF_CALLER) * usd('0.001')
    expect(BigInt(String(body['balance_microdollars']))).to.equal(5_000_000n - spent)
  })

  it('of its database causes 503 until it runs again and moves no money', async () => {
    const { child, ready } = await start(dataDir, 'ignore') // the log is full of expected failures
    running = child
    const pool = createPool(ready.databaseUrl, { max: 1, role: 'hub_app' })
    try {
      const { rows } = await pool.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
      const { pid } = rows[0]!
      const callers = new KeyedCallers(ready)
      const made = callers.run()
      await eventually(() => callers.done.size >= KEYED)
      process.kill(pid, 'SIGSTOP') // no second one can start beside its remains
      process.kill(await postmasterOf(dataDir), 'SIGKILL')
      await eventually(() => callers.refused.length >= KEYED)
      process.kill(pid, 'SIGKILL')
      const back = callers.done.size + KEYED
      await eventually(() => callers.done.size >= back)
      callers.enough = true
      await made
      for (const { status, headers, body } of callers.refused) {
        expect([status, headers['content-type']]).to.deep.equal([503, 'application/problem+json'])
        expect(body).to.include({ code: 'service_unavailable', charged_microdollars: 0 })
      }
      await sweptClean(pool)
      expect(await verifyLedger(pool)).to.have.property('ok', true)
      const { body } = await ask(ready.url, '/v1/credits/balance', { key: ready.apiKey })
      const spent = BigInt(callers.done.size) * usd('0.001')
      expect(BigInt(String(body['balance_microdollars']))).to.equal(5_000_000n - spent)
    } finally {
      await pool.end()
    }
  })
})

const KEYED = 4
const CALLS_OF_CALLER = 20

/** Makes calls one after another and repeats each under its key until it gets a response. */
class KeyedCallers {
  enough = false
  /** Ids of calls with a response. */
  readonly done = new Set<string>()
  readonly refused: ApiResponse[] = []
  readonly #ready: Ready
  #next = 0

  constructor(ready: Ready) {
    this.#ready = ready
  }

  async run(): Promise<void> {
    await Promise.all(Array.from({ length: KEYED }, () => this.#caller()))
  }

  async #caller(): Promise<void> {
    while (!this.enough) {
      const n = this.#next++
      await eventually(() => this.#isAnswered(n), 120_000)
    }
  }

  async #isAnswered(n: number): Promise<boolean> {
    const { url, apiKey: key } = this.#ready
    const headers = { 'idempotency-key': `call-${n}` }
    const response = await ask(url, '/proxy/slow/work', { key, body: { n }, headers })
    if (response.status === 200) this.done.add(String(response.headers['x-call-id']))
    else if (response.body['code'] !== 'idempotency_in_progress') this.refused.push(response)
    return response.status === 200
  }
}

/** Sends all calls, kills the hub in the middle, and returns the responses that arrived. */
async function callUntilKilled({ child, ready }: { child: ChildProcess; ready: Ready }) {
  const client = new HubClient({ baseUrl: ready.url, apiKey: ready.apiKey })
  const acknowledged: HubResponse[] = []
  let next = 0
  const caller = async (): Promise<void> => {
    while (next < CALLS) {
      const answer = await client.call('slow', '/work', { n: next++ })
      acknowledged.push(answer)
      if (acknowledged.length === KILL_AFTER) child.kill('SIGKILL')
    }
  }
  await Promise.allSettled(Array.from({ length: 25 }, caller))
  await eventually(() => isGone(child.pid!))
  return acknowledged
}

/**
 * Waits for the restarted hub to expire holds, which live five seconds. If the kill interrupted the
 * job, it runs again half a minute later.
 */
async function sweptClean(pool: ReturnType<typeof createPool>): Promise<void> {
  for (let waited = 0; waited < 90_000; waited += 250) {
    const { rows } = await pool.query<{ open: bigint }>(
      'SELECT count(*) AS open FROM ledger.open_hold',
    )
    if (rows[0]!.open === 0n) return
    await sleep(250)
  }
  throw new Error('holds are still open')
}
