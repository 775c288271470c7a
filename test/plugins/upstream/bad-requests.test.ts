import { expect } from 'chai'
import { eventually } from '../../support/eventually.ts'
import { json, useUpstream } from './fixture.ts'

describe('an imported API that gets bad requests', () => {
  const world = useUpstream()
  const { answers, sell, call } = world

  it('keeps its uptime and success rate, however many one caller sends', async () => {
    const slug = await sell([{ path: '/do', passes: [404] }])
    for (let i = 0; i < 50; i++) {
      answers(json({ e: 1 }, 400))
      const refused = await call(slug, '/do', { body: {} })
      expect([refused.status, refused.body['code']]).to.deep.equal([422, 'refused'])
      expect(refused.body, refused.text).to.have.nested.property('upstream.status', 400)
      answers(json({ e: 1 }, 404))
      expect((await call(slug, '/do', { body: {} })).status).to.equal(404)
    }
    answers(json({ n: 1 }))
    await call(slug, '/do', { body: {} })
    await eventually(async () => {
      const { rows } = await world.hub.database.admin.query<object>(
        `SELECT s.calls::integer, s.up::integer, (SELECT sum(n)::integer FROM hub.outcome_day o,
           unnest(o.calls) n WHERE o.service = s.service AND o.refused) AS refused
         FROM hub.service_day s WHERE s.service = $1`,
        [slug],
      )
      return JSON.stringify(rows) === '[{"calls":101,"up":101,"refused":100}]'
    })
  })

  it('charges for the client errors that it declares as its results, once', async () => {
    const endpoint = { path: '/do', passes: [404, 409], charges: [404], price_microdollars: 700 }
    const slug = await sell([endpoint])
    answers(json({ charged_microdollars: 5 }, 404))
    const tried = await world.act(slug, 'test', { endpoint: 'POST /do', input: {} })
    expect(tried.body).to.include({ delivered: true, status: 404 })
    const send = () => call(slug, '/do', { body: {}, headers: { 'Idempotency-Key': 'absent' } })
    const missing = await send()
    expect([missing.status, missing.headers['x-charged-microdollars']]).to.deep.equal([404, '700'])
    const again = await send()
    expect([again.status, again.headers['x-charged-microdollars']]).to.deep.equal([404, '0'])
    expect(again.headers['x-charged-earlier-microdollars']).to.equal('700')
    answers(json({ e: 1 }, 409))
    const conflict = await call(slug, '/do', { body: {} })
    expect([conflict.status, conflict.headers['x-charged-microdollars']]).to.deep.equal([409, '0'])
  })
})
