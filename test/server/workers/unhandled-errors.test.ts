import { execFile } from 'node:child_process'
import { expect } from 'chai'
import { usd } from '../../../core/money.ts'
import { ask } from '../../support/ask.ts'
import { eventually } from '../../support/eventually.ts'
import { ProcessHub } from '../../support/workers.ts'

const PRICE = usd('0.001')
const MODULE = new URL('../../../server/observability/unhandled-errors.ts', import.meta.url).href
const LOG = new URL('../../../core/log.ts', import.meta.url).href

const leak = ({ url }: ProcessHub, key: string, by: 'promise' | 'timer') =>
  ask(url, '/proxy/slow/leak', { key, body: { by } })
const work = ({ url }: ProcessHub, key: string, ms: number) =>
  ask(url, '/proxy/slow/work', { key, body: { ms } })
const openHolds = async ({ database }: ProcessHub): Promise<number> =>
  (await database.pool.query('SELECT FROM ledger.open_hold')).rows.length
const errorsLogged = ({ logged }: ProcessHub): readonly Record<string, unknown>[] =>
  logged
    .split('\n')
    .filter((line) => line.includes('an error was not handled'))
    .map((line) => JSON.parse(line))

describe('an error that no code handles', () => {
  let hub: ProcessHub
  const running: ProcessHub[] = []
  afterEach(async () => {
    for (const each of running.splice(0)) await each.close()
  })
  const start = async (env: Readonly<Record<string, string>>): Promise<ProcessHub> => {
    const started = await ProcessHub.start(env)
    running.push(started)
    return started
  }

  it('lets a process answer its other callers, even if more follow, and then ends it', async () => {
    hub = await start({ HUB_DRAIN_DELAY: '1' })
    const { apiKey, keyId } = await hub.agent(PRICE * 10n)
    const calls = Array.from({ length: 3 }, () => work(hub, apiKey, 2_500))
    await eventually(async () => (await openHolds(hub)) === 3)
    expect(await leak(hub, apiKey, 'timer')).to.have.property('status', 200)
    expect(await leak(hub, apiKey, 'promise')).to.have.property('status', 200)
    await eventually(() => errorsLogged(hub).length === 2)
    for (const { status, body } of await Promise.all(calls)) {
      expect([status, body['pid']]).to.deep.equal([200, hub.child.pid])
    }
    expect(await hub.ended).to.deep.equal([1, null])
    expect(await hub.balance(keyId)).to.equal(PRICE * 7n)
    const origins = errorsLogged(hub).map(({ origin }) => origin)
    expect(origins).to.have.members(['uncaughtException', 'unhandledRejection'])
    for (const line of errorsLogged(hub)) {
      expect(line['err']).to.have.property('stack').that.includes('workers-program.ts')
    }
    expect(hub.logged).to.not.include('ahk_0123456789')
  })

  it('replaces a worker before it drains, and is counted', async () => {
    hub = await start({ HUB_WORKERS: '2' })
    const { apiKey } = await hub.agent(PRICE * 20n)
    const calls = Array.from({ length: 10 }, () => work(hub, apiKey, 2_500))
    await eventually(async () => (await openHolds(hub)) === 10)
    const { body } = await leak(hub, apiKey, 'promise')
    for (const { status } of await Promise.all(calls)) expect(status).to.equal(200)
    const failing = Number(body['pid'])
    await eventually(() => hub.logged.includes(`"worker":${failing},"code":1`))
    const { text } = await ask(hub.url, '/metrics')
    expect(text).to.include('hub_unhandled_errors_total{origin="unhandledRejection"} 1')
    expect(await hub.signal('SIGTERM')).to.deep.equal([0, null])
  })

  it('ends a process that does not end by itself', async () => {
    const program = `
      import { createLog } from '${LOG}'
      import { watchUnhandledErrors } from '${MODULE}'
      watchUnhandledErrors(createLog('error'), { delaySeconds: 0.1, graceSeconds: 0.1 }, 100)
      setInterval(() => {}, 1_000)
      void Promise.reject()`
    const args = ['--input-type=module', '-e', program]
    const ended = await new Promise<{ code: unknown; stderr: string }>((resolve) => {
      execFile(process.execPath, args, (error, _, stderr) => resolve({ code: error?.code, stderr }))
    })
    expect(ended.code).to.equal(1)
    expect(ended.stderr).to.include('"origin":"unhandledRejection"')
  })
})
