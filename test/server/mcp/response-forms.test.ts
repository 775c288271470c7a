import { expect } from 'chai'
import { usd } from '../../../core/money.ts'
import { STORED_BYTES_MAX } from '../../../core/usage/stored-responses.ts'
import { PRICE } from '../../stories/counted-service.ts'
import type { TestAgent } from '../../support/hub.ts'
import { useHub } from '../../support/suite.ts'
import { callTool } from './ask.ts'
import { responseForms } from './response-forms.ts'

describe('a response that a tool paid for', () => {
  const hub = useHub({ plugins: [responseForms] })
  let ada: TestAgent
  beforeEach(async () => {
    ada = await hub().agent()
    await hub().credit(ada.keyId, usd('1'))
  })
  const get = (endpoint: string, input = {}) =>
    callTool(hub(), ada.apiKey, 'hub_call', { service: 'various', endpoint, input })

  it('is returned with its charge even if it is a problem of the service', async () => {
    const body = { type: 'about:blank', title: 'Too dull' }
    const refused = { error: 'service_refused', status: 422, charged_usd: '0.00', body }
    expect((await get('GET /dull')).data).to.deep.include(refused)
    const delivered = { status: 200, charged_usd: '0.001', body }
    expect((await get('GET /dull-fact')).data).to.deep.include(delivered)
    expect(await hub().balance(ada.keyId)).to.equal(usd('1') - PRICE)
  })

  it('is text for text, a note for bytes, and the beginning of an interrupted stream', async () => {
    expect((await get('GET /text')).data).to.deep.include({
      content_type: 'text/plain',
      body: 'Grüße',
    })
    const { data } = await get('GET /bytes')
    expect(data).to.deep.include({ content_type: 'image/png', bytes: 4 })
    expect(data).not.to.have.property('body')
    expect(data['note']).to.include('Idempotency-Key')
    expect((await get('GET /stream')).data).to.deep.include({ body: { a: 1 } })
    const broken = { error: 'stream_broken', charged_usd: '0.00', incomplete: true }
    expect((await get('GET /broken')).data).to.include({ ...broken, body: 'the begin' })
  })

  it('promises its rest only if it is stored', async () => {
    const { data: stored } = await get('POST /long', { chars: STORED_BYTES_MAX })
    expect(stored).to.include({ truncated: true, next_offset: 20_000 })
    for (const { data } of [
      await get('POST /long', { chars: STORED_BYTES_MAX + 1 }),
      await get('GET /long-stream'),
    ]) {
      expect(data).to.include({ status: 200, truncated: true })
      expect(data).not.to.have.property('next_offset')
      expect(data['next']).to.match(/only complete responses .* stored.* charged again/)
    }
  })

  for (const endpoint of ['GET /many-bytes', 'GET /many-bytes-stream']) {
    it(`A321 is not charged if it is neither text nor stored: ${endpoint}`, async () => {
      const { data } = await get(endpoint)
      expect(data).to.include({ error: 'response_needs_http', charged_usd: '0.00' })
      expect(data['next']).to.include('over HTTP')
      expect(await hub().balance(ada.keyId)).to.equal(usd('1'))
    })
  }
})
