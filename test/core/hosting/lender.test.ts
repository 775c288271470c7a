import { expect } from 'chai'
import { Lender } from '../../../core/hosting/lender.ts'

describe('what a plugin that runs apart is lent', () => {
  it('is used 16 times at once at most, whatever its questions are called', async () => {
    const asked = Promise.withResolvers<never>()
    let count = 0
    const http = {
      request: () => {
        count += 1
        return asked.promise
      },
    }
    const browser = { render: () => asked.promise }
    const lender = new Lender({ http, backends: http, browser }, ['http'])
    const request = { url: 'https://api.example/', method: 'GET' }
    const ask = (id: number) => lender.answer({ is: 'asks', id, what: 'http', request })
    const same = Array.from({ length: 40 }, () => ask(0))
    const others = Array.from({ length: 40 }, (_, i) => ask(i + 1))
    expect(count).to.equal(16)
    asked.reject(new Error('over'))
    const told = await Promise.all([...same, ...others])
    expect(told.every((each) => 'error' in each)).to.equal(true)
    await ask(0)
    expect(count).to.equal(17)
  })
})
