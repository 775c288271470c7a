import { readFile } from 'node:fs/promises'
import { expect } from 'chai'
import nock from 'nock'
import { sleep } from '../../core/clock.ts'
import { freePort } from '../../core/runtime/net.ts'
import { eventually } from '../support/eventually.ts'
import { type HeldSocket, holdSocket } from '../support/held-socket.ts'
import { type FreshDatabase, freshDatabase } from '../support/postgres.ts'
import { ServingProcess } from '../support/serving-process.ts'
import { SteadyLoad } from '../support/steady-load.ts'
import { timed } from '../support/timing.ts'

interface Scenario {
  readonly title: string
  readonly env?: Readonly<Record<string, string>>
  /** True if the hub has the built-in database, which dies with it. */
  readonly hasOwnDatabase?: boolean
  /** True if the listening socket survives the hub. */
  readonly hasHeldSocket?: boolean
  /** @param other hub that is not started yet, on the same socket and database */
  readonly act: (hub: ServingProcess, other: ServingProcess) => Promise<unknown>
  /** Maximum time without a response, on a machine with nothing else to do. */
  readonly maxGapMs: number
  readonly maxRefused: number
  readonly maxReset: number
}

const TWO = { HUB_WORKERS: '2' }
const MANY = Number.POSITIVE_INFINITY
const RESTART_MS = 3_000
/** With the second in which a drain waits for the requests of idle connections. */
const GRACEFUL_RESTART_MS = 4_000
const CLIENTS = 8
/** A kill resets a request of each client, and another one that it sends on a lost connection. */
const MAX_KILLED = 2 * CLIENTS
/** SIGTERM resets at most the one connection that may wait when a socket is closed. */
const MAX_CLOSED = 1

const kill = async (hub: ServingProcess): Promise<void> => {
  await hub.end('SIGKILL')
  await hub.serve()
}
const restart = async (hub: ServingProcess): Promise<void> => {
  await hub.end('SIGTERM')
  await hub.serve()
}
const workersOf = async ({ pid }: ServingProcess): Promise<readonly number[]> => {
  const text = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')
  const isWorker = async (child: string) =>
    (await readFile(`/proc/${child}/cmdline`, 'utf8')).includes('workers-process')
  const children = text.trim().split(' ')
  const found = await Promise.all(
    children.map(async (each) => ((await isWorker(each)) ? each : '')),
  )
  return found.filter((each) => each !== '').map(Number)
}

const SCENARIOS: readonly Scenario[] = [
  {
    title: 'kill -9 of a single process',
    act: kill,
    maxGapMs: RESTART_MS,
    maxRefused: MANY,
    maxReset: MAX_KILLED,
  },
  {
    title: 'kill -9 of one of two workers',
    env: TWO,
    act: async (hub) => process.kill((await workersOf(hub))[0]!, 'SIGKILL'),
    maxGapMs: 1_000,
    maxRefused: 0,
    maxReset: MAX_KILLED,
  },
  {
    title: 'kill -9 of the primary of two workers',
    env: TWO,
    act: kill,
    maxGapMs: RESTART_MS,
    maxRefused: MANY,
    maxReset: MAX_KILLED,
  },
  {
    title: 'kill -9 of a sandbox, with its database and chain',
    hasOwnDatabase: true,
    act: kill,
    maxGapMs: RESTART_MS,
    maxRefused: MANY,
    maxReset: MAX_KILLED,
  },
  {
    title: 'kill -9, socket held by the supervisor',
    hasHeldSocket: true,
    act: kill,
    maxGapMs: RESTART_MS,
    maxRefused: 0,
    maxReset: MAX_KILLED,
  },
  {
    title: 'SIGTERM and start',
    act: restart,
    maxGapMs: GRACEFUL_RESTART_MS,
    maxRefused: MANY,
    maxReset: MAX_CLOSED,
  },
  {
    title: 'SIGTERM and start, two workers',
    env: TWO,
    act: restart,
    maxGapMs: GRACEFUL_RESTART_MS,
    maxRefused: MANY,
    maxReset: MAX_CLOSED,
  },
  {
    title: 'SIGTERM and start, two workers, socket held by the supervisor',
    env: TWO,
    hasHeldSocket: true,
    act: restart,
    maxGapMs: GRACEFUL_RESTART_MS,
    maxRefused: 0,
    maxReset: 0,
  },
  {
    title: 'start of another hub, then SIGTERM, socket held by the supervisor',
    hasHeldSocket: true,
    act: async (hub, other) => {
      await other.start()
      await hub.end('SIGTERM')
    },
    maxGapMs: 1_000,
    maxRefused: 0,
    maxReset: 0,
  },
]

describe(`A restart under the load of ${CLIENTS} clients`, function () {
  this.timeout(300_000)
  let database: FreshDatabase
  let socket: HeldSocket | undefined
  const hubs: ServingProcess[] = []
  const rows: string[] = []
  before(() => nock.restore())
  after(() => {
    nock.activate()
    process.stdout.write(`\n${rows.join('\n')}\n\n`)
  })
  beforeEach(async () => {
    database = await freshDatabase()
  })
  afterEach(async () => {
    await Promise.all(hubs.splice(0).map((hub) => hub.remove()))
    socket?.close()
    socket = undefined
    await database.drop()
  })

  const create = async (scenario: Scenario, port: number): Promise<ServingProcess> => {
    const place = scenario.hasOwnDatabase ? {} : { DATABASE_URL: database.url }
    const env = { ...place, ...scenario.env }
    const hub = await ServingProcess.create({ port, env, ...(socket && { fd: socket.fd }) })
    hubs.push(hub)
    return hub
  }

  for (const scenario of SCENARIOS) {
    it(scenario.title, async () => {
      socket = scenario.hasHeldSocket ? holdSocket() : undefined
      const port = socket?.port ?? (await freePort())
      const [hub, other] = [await create(scenario, port), await create(scenario, port)]
      const [, startMs] = await timed(() => hub.start())
      const load = new SteadyLoad(port, CLIENTS)
      await eventually(() => load.count(200) > 200)
      load.reset()
      await scenario.act(hub, other)
      await sleep(1_000) // and some load afterwards
      await load.stop()
      const { ECONNREFUSED: refused = 0, ECONNRESET: reset = 0, ...others } = load.failures
      const gapMs = Math.round(load.longestGapMs)
      const start = `start ${Math.round(startMs)} ms, longest gap ${gapMs} ms`
      rows.push(`${scenario.title.padEnd(68)} ${start}, refused ${refused}, reset ${reset}`)
      expect(others).to.deep.equal({})
      expect(refused, 'refused connections').to.be.at.most(scenario.maxRefused)
      expect(reset, 'reset connections').to.be.at.most(scenario.maxReset)
      expect(gapMs, 'longest time without a response').to.be.at.most(scenario.maxGapMs)
    })
  }
})
