import { expect } from 'chai'
import { useUpstream } from './fixture.ts'

const UNSENT = [
  'Cache-Control',
  'Clear-Site-Data',
  'Connection',
  'crawler-charged',
  'Date',
  'RateLimit',
  'Set-Cookie',
  'WWW-Authenticate',
  'X-Agent',
  'X-AgentHub-Call',
  'X-Charged-Microdollars',
  'X-Receipt',
  'X-Usage',
]

describe('a response header that callers never receive', () => {
  const world = useUpstream()

  it('cannot be declared, and the provider learns which one it is', async () => {
    const path = `/v1/provider/services/${await world.draft()}`
    for (const name of UNSENT) {
      const { status, body } = await world.send('PATCH', path, {
        response_headers: ['X-Own', name],
      })
      expect([status, body['code']], name).to.deep.equal([422, 'validation_failed'])
      const [issue] = body['issues'] as [{ path: string; message: string }]
      expect(issue.path, name).to.equal('/response_headers/1')
      expect(issue.message, name).to.match(/^cannot be sent to callers/)
    }
    const kept = { response_headers: ['x-own', 'x-api-version', 'location'] }
    expect((await world.send('PATCH', path, kept)).body).to.deep.include(kept)
  })
})
