import { expect } from 'chai'
import { daysBefore, monthName, monthStart, systemClock } from '../../core/clock.ts'
import { type ApiResponse, ask } from '../support/ask.ts'
import { eventually } from '../support/eventually.ts'
import type { TestAgent } from '../support/hub.ts'
import { useHub } from '../support/suite.ts'
import { gift } from './failing-services.ts'

const nextMonth = monthStart(systemClock.now(), 1)
const lastMoment = new Date(nextMonth.getTime() - 1)

describe('a free call under an Idempotency-Key, at the end of a month', () => {
  let time: Date | undefined
  const hub = useHub({ plugins: [gift], clock: { now: () => time ?? systemClock.now() } })
  let ada: TestAgent
  beforeEach(async () => {
    time = undefined
    ada = await hub().agent()
  })
  const call = (): Promise<ApiResponse> =>
    ask(hub().url, '/proxy/gift/try', {
      key: ada.apiKey,
      body: {},
      headers: { 'idempotency-key': 'month' },
    })
  /** Simulates a process that died before it recorded the end of an attempt. */
  const loseEnd = () =>
    hub().hub.pool.query('UPDATE hub.idempotent_call SET done = false, busy_until = now()')

  async function isRepeated(first: ApiResponse): Promise<void> {
    expect([first.status, first.headers['x-payment-source']]).to.deep.equal([200, 'free'])
    await loseEnd()
    time = daysBefore(nextMonth, -5)
    const again = await call()
    expect(again.headers).to.include({
      'idempotency-replayed': 'true',
      'x-call-id': first.headers['x-call-id'],
    })
  }

  it('is not repeated in the next month if its end was never recorded', async () => {
    time = lastMoment
    await isRepeated(await call())
  })

  it('is not repeated if the month changed before the hold', async () => {
    time = lastMoment
    const first = await turned()
    const { rows } = await hub().hub.pool.query<{ code: string }>(
      `SELECT a.code FROM ledger.journal j JOIN ledger.account a ON a.id = j.owner
       WHERE j.id = $1 LIMIT 1`,
      [first.headers['x-call-id']],
    )
    expect(rows[0]!.code).to.match(new RegExp(`:gift:${monthName(nextMonth)}$`))
    await isRepeated(first)
  })

  /** Makes a call whose id is of one month and whose hold of the next. */
  async function turned(): Promise<ApiResponse> {
    const client = await hub().database.admin.connect()
    try {
      await client.query('BEGIN; LOCK hub.idempotent_call')
      const pending = call()
      await eventually(async () => {
        const { rowCount } = await client.query(
          `SELECT FROM pg_locks WHERE NOT granted AND relation = 'hub.idempotent_call'::regclass`,
        )
        return rowCount === 1
      })
      time = nextMonth
      await client.query('COMMIT')
      return await pending
    } finally {
      client.release()
    }
  }
})
