import { expect } from 'chai'
import { usd } from '../../../core/money.ts'
import { PRICE } from '../../stories/counted.ts'
import type { TestAgent } from '../../support/hub.ts'
import { useHub } from '../../support/suite.ts'
import { callTool } from './ask.ts'
import { various } from './response-forms.ts'

describe('an answer that a tool paid for', () => {
  const hub = useHub({ plugins: [various] })
  let ada: TestAgent
  beforeEach(async () => {
    ada = await hub().agent()
    await hub().credit(ada.keyId, usd('1'))
  })
  const get = (endpoint: string) =>
    callTool(hub(), ada.apiKey, 'hub_call', { service: 'various', endpoint, input: {} })

  it('is told also where it is a problem of the service, and what it cost', async () => {
    const body = { type: 'about:blank', title: 'Too dull' }
    const refused = { error: 'service_refused', status: 422, charged_usd: '0.00', body }
    expect((await get('GET /dull')).told).to.deep.include(refused)
    const delivered = { status: 200, charged_usd: '0.001', body }
    expect((await get('GET /dull-fact')).told).to.deep.include(delivered)
    expect(await hub().balance(ada.keyId)).to.equal(usd('1') - PRICE)
  })

  it('is text as text, bytes as a note, and of a stream the beginning', async () => {
    expect((await get('GET /text')).told).to.deep.include({
      content_type: 'text/plain',
      body: 'Grüße',
    })
    const { told } = await get('GET /bytes')
    expect(told).to.deep.include({ content_type: 'image/png', bytes: 4 })
    expect(told).not.to.have.property('body')
    expect(told['note']).to.include('Idempotency-Key')
    expect((await get('GET /stream')).told).to.deep.include({ body: { a: 1 } })
    expect((await get('GET /broken')).told).to.include({ incomplete: true, body: 'the begin' })
  })
})
