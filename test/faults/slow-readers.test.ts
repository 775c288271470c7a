import { readFile } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { expect } from 'chai'
import { elapsedMs, sleep } from '../../core/clock.ts'
import { generateKey } from '../../core/identity/secret.ts'
import { usd } from '../../core/money.ts'
import { ask } from '../support/ask.ts'
import { ProcessHub } from '../support/workers.ts'

const ATTACK_MS = 10_000
/** Memory that the process may grow by: its budget, bodies being made, and garbage. */
const GROWTH_MAX_MIB = 600
const LIVEZ_MAX_MS = 2_000
const BUDGET_MIB = 128
/** Attackers with a key each. */
const KEYED = 30
const PAID_CALLS_MIN = 5

/** A client that sends a request and does not read the response, or reads it drop by drop. */
interface Attacker {
  readonly head: string
  readonly isDripping?: boolean
}

describe('strangers who do not read, and who guess keys', function () {
  this.timeout(180_000)
  let hub: ProcessHub
  let payer: { readonly apiKey: string; readonly keyId: string }
  let freeKeys: readonly string[]
  before(async () => {
    const env = { HUB_LOG_LEVEL: 'warn', HUB_CONNECTION_MEMORY: String(BUDGET_MIB) }
    hub = await ProcessHub.start(env)
    payer = await hub.agent(usd('10'))
    const agents = await Promise.all(Array.from({ length: KEYED }, () => hub.agent()))
    freeKeys = agents.map(({ apiKey }) => apiKey)
  })
  after(() => hub?.close())

  /** Memory of the process (MiB): now, or at most until now. */
  const memory = async (value: 'VmRSS' | 'VmHWM'): Promise<number> => {
    const status = await readFile(`/proc/${hub.child.pid}/status`, 'utf8')
    return Number(new RegExp(`${value}:\\s+(\\d+) kB`).exec(status)?.[1]) / 1_024
  }

  const large = (mib: number, key?: string): string =>
    [
      `GET /proxy/slow/large?mib=${mib} HTTP/1.1`,
      'Host: a',
      ...(key === undefined ? [] : [`Authorization: Bearer ${key}`]),
      '\r\n',
    ].join('\r\n')

  /** Part of a request whose rest never comes. */
  const upload = [
    'POST /proxy/slow/work HTTP/1.1',
    'Host: a',
    'Content-Type: application/json',
    'Content-Length: 500000',
    '',
    `{"ms":"${'x'.repeat(400_000)}`,
  ].join('\r\n')

  const attackers: readonly (() => Attacker)[] = [
    ...Array.from({ length: 30 }, () => () => ({ head: large(32) })),
    ...Array.from({ length: 30 }, () => () => ({ head: large(4) })),
    ...Array.from({ length: KEYED }, (_, i) => () => ({ head: large(32, freeKeys[i]) })),
    ...Array.from({ length: KEYED / 3 }, (_, i) => () => ({
      head: large(32, freeKeys[i]),
      isDripping: true,
    })),
    ...Array.from({ length: 100 }, () => () => ({ head: upload })),
  ]

  /** Runs the attackers, each again when it was cut, until stopped. */
  function attack() {
    const open = new Set<Socket>()
    let isStopped = false
    const start = (attacker: () => Attacker): void => {
      const { head, isDripping = false } = attacker()
      const socket = connect(hub.port, '127.0.0.1').pause()
      const drip = setInterval(() => void (isDripping && socket.read(1)), 100)
      open.add(socket)
      socket.on('error', () => undefined)
      socket.once('close', () => {
        clearInterval(drip)
        open.delete(socket)
        if (!isStopped) setTimeout(() => isStopped || start(attacker), 250)
      })
      socket.write(head)
    }
    attackers.forEach(start)
    return () => {
      isStopped = true
      for (const socket of open) socket.destroy()
    }
  }

  it('A141 cost a bounded memory, while paying callers are served', async () => {
    for (let i = 0; i < 20; i++) await ask(hub.url, '/livez')
    const before = await memory('VmRSS')
    const stop = attack()
    const paid: number[] = []
    let slowestMs = 0
    try {
      for (const end = elapsedMs() + ATTACK_MS; elapsedMs() < end; await sleep(50)) {
        const start = elapsedMs()
        const { status } = await ask(hub.url, '/livez')
        slowestMs = Math.max(slowestMs, elapsedMs() - start)
        expect(status).to.equal(200)
        const call = { key: payer.apiKey, body: { ms: 1 } }
        paid.push((await ask(hub.url, '/proxy/slow/work', call)).status)
      }
    } finally {
      stop()
    }
    const growth = Math.round((await memory('VmHWM')) - before)
    process.stdout.write(
      `      ${paid.length} paid calls, slowest /livez ${Math.round(slowestMs)} ms, ` +
        `memory ${Math.round(before)} + ${growth} MiB\n`,
    )
    expect(new Set(paid)).to.deep.equal(new Set([200]))
    expect(paid.length).to.be.at.least(PAID_CALLS_MIN)
    expect(growth).to.be.below(GROWTH_MAX_MIB)
    expect(slowestMs).to.be.below(LIVEZ_MAX_MS)
  })

  it('guess 700 keys without locking out those who share their address', async () => {
    const statuses = await Promise.all(
      Array.from({ length: 700 }, async (_, i) => {
        const key = generateKey()
        const path = ['/v1/credits/balance', '/proxy/slow/process', '/v1/keys'][i % 3]!
        const { status, headers } = await ask(hub.url, path, { key })
        if (status === 429) expect(Number(headers['retry-after'])).to.be.within(1, 60)
        return status
      }),
    )
    expect(new Set(statuses)).to.deep.equal(new Set([401, 429]))
    expect(statuses.filter((status) => status === 401).length).to.be.below(100)
    const { apiKey } = await hub.agent()
    for (const key of [payer.apiKey, apiKey]) {
      expect((await ask(hub.url, '/v1/credits/balance', { key })).status).to.equal(200)
    }
  })
})
