import { expect } from 'chai'
import { usd } from '../../../core/money.ts'
import { ask } from '../../support/ask.ts'
import { eventually } from '../../support/eventually.ts'
import { useHub } from '../../support/suite.ts'

describe('connections of pages and REST', () => {
  const hub = useHub()

  it('are few, and paid calls and health do not wait for them', async () => {
    const { client, keyId } = await hub().agent()
    await hub().credit(keyId, usd('1'))
    const { pagePool } = hub().hub
    await eventually(() => pagePool.options.max === 6) // fewer at first
    const held = await Promise.all(Array.from({ length: 6 }, () => pagePool.connect()))
    let isShown = false
    const page = ask(hub().url, '/status', { headers: { accept: 'text/html' } }).finally(
      () => (isShown = true),
    )
    try {
      const { body } = await client.call('echo', '/say', { words: 'hi' })
      expect(body).to.include({ words: 'hi' })
      expect((await ask(hub().url, '/readyz')).status).to.equal(200)
      expect([isShown, pagePool.waitingCount > 0], 'the page waits').to.deep.equal([false, true])
    } finally {
      for (const client of held) client.release()
    }
    expect((await page).status).to.equal(200)
  })
})
