import { usd } from 'agenthub/plugin'
import { expect } from 'chai'
import { systemClock } from '../../core/clock.ts'
import { ask } from '../support/ask.ts'
import { useHub } from '../support/suite.ts'
import { loseRecordOf, PRICE, work, works } from './lost-response-services.ts'

const MS_PER_DAY = 86_400_000

describe('a charged call whose record is detached', () => {
  let aheadMs = 0
  const clock = { now: () => new Date(systemClock.now().getTime() + aheadMs) }
  const hub = useHub({ plugins: [works], clock })

  it('is repeated as paid and delivered: neither charged again nor refunded as lost', async () => {
    const { apiKey: key, keyId } = await hub().agent()
    await hub().credit(keyId, usd('1'))
    const call = () =>
      ask(hub().url, '/proxy/works/large', { key, body: {}, headers: { 'idempotency-key': 'one' } })
    work.done = 0
    const first = await call()
    await loseRecordOf(hub(), first.headers['x-call-id'])
    aheadMs = 400 * MS_PER_DAY
    const again = await call().finally(() => (aheadMs = 0))
    expect(again.status).to.equal(410)
    expect(again.body).to.include({
      code: 'answer_expired',
      call_id: first.headers['x-call-id'],
      charged_microdollars: Number(PRICE),
    })
    expect(again.body).not.to.have.property('receipt')
    expect([work.done, usd('1') - (await hub().balance(keyId))]).to.deep.equal([1, PRICE])
  })
})
