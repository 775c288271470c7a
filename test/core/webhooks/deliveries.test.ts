import { expect } from 'chai'
import { systemClock } from '../../../core/clock.ts'
import type { EgressRequest, EgressResponse } from '../../../core/egress/http.ts'
import { prefixedId } from '../../../core/ids.ts'
import { createLog } from '../../../core/log.ts'
import { singleKey } from '../../../core/secret-keys/purpose-keys.ts'
import { Deliveries } from '../../../core/webhooks/deliveries.ts'
import { TEST_EVENT } from '../../../core/webhooks/events.ts'
import { WebhookSigner } from '../../../core/webhooks/signer.ts'
import { addWebhook } from '../../../core/webhooks/webhooks.ts'
import { eventually } from '../../support/eventually.ts'
import { type FreshDatabase, freshDatabase } from '../../support/postgres.ts'

const SLOW = 'https://slow.test/'
const GONE = 'https://gone.test/'
const QUICK = 'https://quick.test/'

const responseWith = (status: number): EgressResponse => ({
  status,
  headers: {},
  body: Buffer.alloc(0),
})

describe('attempts to deliver webhooks', () => {
  let database: FreshDatabase
  let deliveries: Deliveries
  let release: () => void
  const sent: string[] = []

  beforeEach(async () => {
    database = await freshDatabase()
    sent.length = 0
    const held = Promise.withResolvers<void>()
    release = held.resolve
    const request = async ({ url }: EgressRequest): Promise<EgressResponse> => {
      const isFirst = !sent.includes(url)
      sent.push(url)
      if (url === GONE && isFirst) return responseWith(410)
      if (url !== QUICK) await held.promise
      return responseWith(url === GONE ? 500 : 200)
    }
    deliveries = new Deliveries({
      pool: database.pool,
      egress: { request, close: async () => {} },
      signer: new WebhookSigner(singleKey(Buffer.alloc(32, 1))),
      clock: systemClock,
      log: createLog('silent'),
    })
  })
  afterEach(async () => {
    release()
    await deliveries.idle()
    await database.drop()
  })

  /** Adds webhooks of a new principal, and queues events for each of them. */
  async function hooks(url: string, count: number, events: number): Promise<readonly string[]> {
    const principal = prefixedId('prn')
    const { pool, admin } = database
    await admin.query('INSERT INTO hub.principal (id, shard) VALUES ($1, 0)', [principal])
    const made: string[] = []
    for (let n = 0; n < count; n++) {
      const { id } = await addWebhook(pool, principal, { url, events: ['balance.low'] }, 1)
      await queue(id, events)
      made.push(id)
    }
    return made
  }

  const queue = (id: string, events: number) =>
    database.pool.query(
      `SELECT hub.emit(w.principal, $2, '{}', w.id) FROM hub.webhook w, generate_series(1, $3)
       WHERE w.id = $1`,
      [id, TEST_EVENT, events],
    )

  it('A316 are not all taken by the slow receivers of one principal', async () => {
    await hooks(SLOW, 20, 10)
    await hooks(QUICK, 1, 1)
    await deliveries.start()
    await eventually(async () => sent.includes(QUICK))
    expect(sent.filter((url) => url === SLOW).length).to.be.within(4, 8)
    expect(await deliveries.start(), 'no more of them').to.equal(0)
  })

  it('A316 leave half of the attempts for receivers that respond quickly', async () => {
    const [quick = ''] = await hooks(QUICK, 1, 1)
    await deliveries.start()
    await eventually(async () => sent.length === 1)
    await deliveries.idle()
    for (let n = 0; n < 12; n++) await hooks(SLOW, 20, 2)
    for (let n = 0; n < 3; n++) await deliveries.start()
    expect(sent.filter((url) => url === SLOW).length).to.equal(32)
    await queue(quick, 1)
    await deliveries.start()
    await eventually(async () => sent.filter((url) => url === QUICK).length === 2)
  })

  it('end with their webhook, also those in flight', async () => {
    const [webhook = ''] = await hooks(GONE, 1, 3)
    const states = async () => {
      const text = 'SELECT state FROM hub.webhook_delivery WHERE webhook = $1'
      return (await database.pool.query(text, [webhook])).rows.map(({ state }) => state)
    }
    await deliveries.start()
    await eventually(async () => !(await states()).includes('pending'))
    release()
    await deliveries.idle()
    expect(await states()).to.deep.equal(['failed', 'failed', 'failed'])
  })

  it('go on although one event was tried more often than its counter can count', async () => {
    const [quick = ''] = await hooks(QUICK, 1, 1)
    await database.admin.query('UPDATE hub.webhook_delivery SET attempts = 32767')
    await deliveries.start()
    await eventually(async () => sent.length === 1)
    await deliveries.idle()
    const { rows } = await database.pool.query(
      'SELECT state FROM hub.webhook_delivery WHERE webhook = $1',
      [quick],
    )
    expect(rows).to.deep.equal([{ state: 'delivered' }])
  })
})
