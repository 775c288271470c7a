import { once } from 'node:events'
import { connect } from 'node:net'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { expect } from 'chai'
import { Client, request } from 'undici'
import { expireHolds } from '../../../core/ledger/expire.ts'
import { usd } from '../../../core/money.ts'
import { eventually } from '../../support/eventually.ts'
import { ProcessHub } from '../../support/workers.ts'
import { send } from '../http.ts'

const PRICE = usd('0.001')
const work = (hub: ProcessHub, key: string, ms: number) =>
  send(hub.port, {
    path: '/proxy/slow/work',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ ms }),
  })

/** Returns true if connections are accepted. */
const accepts = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.on('connect', () => resolve(true)).on('error', () => resolve(false))
    socket.on('connect', () => socket.destroy())
  })

const openHolds = async ({ database }: ProcessHub): Promise<number> =>
  (await database.pool.query('SELECT FROM ledger.open_hold')).rows.length

/** Starts a call with ten chunks in three seconds; resolves at the first chunk. */
async function beginStream({ url }: ProcessHub, key: string): Promise<Readable> {
  const { body } = await request(`${url}/proxy/slow/stream`, {
    headers: { authorization: `Bearer ${key}` },
  })
  body.on('error', () => undefined)
  await once(body, 'readable')
  return body
}

const wasWhole = (stream: Readable): Promise<boolean> =>
  text(stream).then(
    () => true,
    () => false,
  )

describe('A075 SIGTERM to two processes at work', () => {
  let hub: ProcessHub
  before(async () => {
    hub = await ProcessHub.start({ HUB_WORKERS: '2', HUB_DRAIN_DELAY: '0.5' })
  })
  after(() => hub?.close())

  it('is not ready first, then takes nobody new, finishes its work, and ends with 0', async () => {
    const { apiKey, keyId } = await hub.agent(PRICE * 100n)
    const calls = Array.from({ length: 50 }, () => work(hub, apiKey, 3_500))
    const stream = send(hub.port, {
      path: '/proxy/slow/stream',
      headers: { authorization: `Bearer ${apiKey}` },
    })
    const left = await beginStream(hub, apiKey)
    left.destroy()
    await eventually(async () => (await openHolds(hub)) >= 52)
    const probe = new Client(hub.url)
    const ready = async () => (await probe.request({ path: '/readyz', method: 'GET' })).statusCode
    expect(await ready()).to.equal(200)
    const ended = hub.signal('SIGTERM')
    await eventually(async () => (await send(hub.port, { path: '/readyz' })).status === 503)
    expect(await accepts(hub.port), 'load balancers still have time to notice').to.equal(true)
    await eventually(async () => !(await accepts(hub.port)))
    for (const { status, headers } of await Promise.all(calls)) {
      expect(status).to.equal(200)
      expect(headers['connection']).to.equal('close')
    }
    const { status, text: pieces } = await stream
    expect([status, pieces.match(/piece \d/g)]).to.deep.equal([
      200,
      Array.from({ length: 10 }, (_, i) => `piece ${i}`),
    ])
    await probe.destroy()
    expect(await ended).to.deep.equal([0, null])
    expect(await hub.balance(keyId)).to.equal(PRICE * 48n)
    expect(await openHolds(hub)).to.equal(0)
    const { rows: kept } = await hub.database.pool.query('SELECT FROM hub.call')
    expect(kept, 'records of calls are written before it ends').to.have.length(52)
  })
})

describe('A076 what hangs beyond the time that SIGTERM leaves', () => {
  let hub: ProcessHub
  afterEach(() => hub?.close())

  const hanging = async (workers: string, seconds = '0.3') => {
    hub = await ProcessHub.start({ HUB_WORKERS: workers, HUB_DRAIN_SECONDS: seconds })
    const agent = await hub.agent(PRICE * 2n)
    const stream = await beginStream(hub, agent.apiKey)
    // far longer than a process takes to exit: what is done by then is charged
    const call = work(hub, agent.apiKey, 4_900).then(
      ({ status }) => status,
      () => 'cut off',
    )
    await eventually(async () => (await hub.balance(agent.keyId)) === 0n)
    return { ...agent, call, stream }
  }
  const resolved = async (keyId: string): Promise<void> => {
    await eventually(async () => {
      await expireHolds(hub.database.pool, hub.ledger) // as another process does
      return (await openHolds(hub)) === 0
    })
    expect(await hub.balance(keyId)).to.equal(PRICE * 2n)
  }

  it('is cut off; its hold is given back once, by another instance if need be', async () => {
    const { call, keyId, stream } = await hanging('1')
    expect(await hub.signal('SIGTERM')).to.deep.equal([0, null])
    expect(await call).to.equal('cut off')
    expect(await wasWhole(stream)).to.equal(false)
    await resolved(keyId)
  })

  it('kill -9 in the middle of a call and of a stream: both are given back', async () => {
    const { call, keyId, stream } = await hanging('1')
    await hub.signal('SIGKILL')
    expect(await call).to.equal('cut off')
    expect(await wasWhole(stream)).to.equal(false)
    await resolved(keyId)
  })

  it('ends at once by a second signal, with every process of it', async () => {
    const { call, keyId } = await hanging('2', '60')
    const ended = hub.signal('SIGTERM')
    const isNoticed = () =>
      send(hub.port, { path: '/readyz' }).then(
        ({ status }) => status === 503,
        () => true,
      )
    await eventually(isNoticed)
    expect(await Promise.race([ended, hub.signal('SIGTERM')])).to.deep.equal([null, 'SIGTERM'])
    expect(await call).to.equal('cut off')
    await eventually(async () => !(await accepts(hub.port)))
    await resolved(keyId)
  })
})
