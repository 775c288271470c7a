import { expect } from 'chai'
import { Injector } from '../../../core/hosting/injector.ts'

describe('an injected capability', () => {
  it('serves at most 16 requests at once, whatever their ids', async () => {
    const pending = Promise.withResolvers<never>()
    let count = 0
    const http = {
      request: () => {
        count += 1
        return pending.promise
      },
    }
    const browser = { render: () => pending.promise }
    const injector = new Injector({ http, backends: http, browser }, ['http'])
    const request = { url: 'https://api.example/', method: 'GET' }
    const ask = (id: number) => injector.answer({ is: 'request', id, capability: 'http', request })
    const same = Array.from({ length: 40 }, () => ask(0))
    const others = Array.from({ length: 40 }, (_, i) => ask(i + 1))
    expect(count).to.equal(16)
    pending.reject(new Error('over'))
    const results = await Promise.all([...same, ...others])
    expect(results.every((each) => 'error' in each)).to.equal(true)
    await ask(0)
    expect(count).to.equal(17)
  })
})
