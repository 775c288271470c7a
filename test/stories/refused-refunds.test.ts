import { usd } from 'agenthub/plugin'
import { expect } from 'chai'
import { createLog } from '../../core/log.ts'
import { recoverCalls } from '../../core/usage/recover-calls.ts'
import { ask } from '../support/ask.ts'
import { useHub } from '../support/suite.ts'
import { loseRecordOf, PRICE, recoverOldCallsOf, works } from './lost-response-services.ts'

describe('a lost call whose refund the ledger refuses', () => {
  const hub = useHub({ plugins: [works] })

  it('is logged and holds up the refund of no other one', async () => {
    const { pool, ledger } = hub().hub
    const { apiKey, keyId } = await hub().agent()
    await hub().credit(keyId, usd('1'))
    const failures: string[] = []
    const log = createLog('error', { write: (line: string) => void failures.push(line) })
    await recoverCalls(pool, ledger, log) // from now on
    const call = async (key: string) => {
      const headers = { 'idempotency-key': key }
      const response = await ask(hub().url, '/proxy/works/large', {
        key: apiKey,
        body: {},
        headers,
      })
      return String(response.headers['x-call-id'])
    }
    const calls = [await call('one'), await call('two'), await call('three')]
    for (const id of calls) await loseRecordOf(hub(), id)
    const post = ledger.post.bind(ledger)
    ledger.post = async (event, entry) =>
      entry.id === calls[1] ? 'above_hold' : post(event, entry)
    await recoverOldCallsOf(hub(), log).finally(() => (ledger.post = post))
    expect(failures.join()).to.include(`${calls[1]} not refunded: above_hold`)
    expect(usd('1') - (await hub().balance(keyId))).to.equal(PRICE)
  })
})
