import { defineService, Reply, s, usd } from 'agenthub/plugin'
import { expect } from 'chai'
import { ask } from '../support/ask.ts'
import { useHub } from '../support/suite.ts'

const endpoint = { price: usd('0.01'), input: s.object({}) }
const reply = (control: string) => async () =>
  new Reply('x'.repeat(10_000), {
    headers: { 'content-type': 'text/plain', 'cache-control': control },
  })
const signed = defineService({
  slug: 'signed',
  name: 'Signed',
  category: 'test',
  summary: 'Sends bodies that carry a signature.',
  provider: 'example',
  endpoints: {
    'POST /exact': { ...endpoint, summary: 'Exact.', handle: reply('no-transform, max-age=60') },
    'POST /loose': { ...endpoint, summary: 'Loose.', handle: reply('max-age=60') },
  },
})

describe('a response with Cache-Control: no-transform', () => {
  const hub = useHub({ plugins: [signed] })

  it('is delivered as the service sent it, not compressed, and not cached', async () => {
    const { apiKey: key, keyId } = await hub().agent()
    await hub().credit(keyId, usd('1'))
    const call = (path: string) =>
      ask(hub().url, `/proxy/signed/${path}`, {
        key,
        body: {},
        headers: { 'accept-encoding': 'gzip', 'idempotency-key': path },
      })
    expect((await call('loose')).headers).to.include({
      'content-encoding': 'gzip',
      'cache-control': 'no-store',
    })
    for (const { headers, text } of [await call('exact'), await call('exact')]) {
      expect(headers).to.include({ 'cache-control': 'no-store, no-transform' })
      expect(headers).not.to.have.property('content-encoding')
      expect(text).to.include('x'.repeat(10_000))
    }
  })
})
