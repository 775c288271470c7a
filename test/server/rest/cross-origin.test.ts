import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'chai'
import { usd } from '../../../core/money.ts'
import { openBrowser } from '../../support/chromium.ts'
import { useHub } from '../../support/suite.ts'

describe('a page of another site', () => {
  const hub = useHub()

  it('can read the cost and the offer of a call', async () => {
    const { apiKey, keyId } = await hub().agent()
    await hub().credit(keyId, usd('1'))
    const site = createServer((_, response) => response.end('elsewhere')).listen(0, '127.0.0.1')
    const browser = await openBrowser()
    try {
      const page = await browser.newPage()
      await page.goto(`http://127.0.0.1:${(site.address() as AddressInfo).port}/`)
      const call = async (url: string, headers: Record<string, string>) => {
        const answer = await fetch(url, { method: 'POST', headers, body: '{"words":"hello"}' })
        return { status: answer.status, headers: Object.fromEntries(answer.headers) }
      }
      const url = `${hub().url}/proxy/echo/say`
      const headers = { 'content-type': 'application/json', 'crawler-max-price': 'USD 1' }
      const paid = await page.evaluate(call, url, { ...headers, authorization: `Bearer ${apiKey}` })
      expect(paid.status).to.equal(200)
      expect(paid.headers).to.include.keys('crawler-charged', 'x-receipt', 'x-call-id', 'ratelimit')
      const unpaid = await page.evaluate(call, url, headers)
      expect(unpaid.status).to.equal(402)
      expect(unpaid.headers).to.include.keys('crawler-price', 'payment-required')
    } finally {
      await browser.close()
      site.close()
    }
  })
})
