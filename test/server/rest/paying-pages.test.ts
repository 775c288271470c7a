import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'chai'
import { build } from 'esbuild'
import type { Browser, Page } from 'puppeteer-core'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { usd } from '../../../core/money.ts'
import { fund } from '../../../server/sandbox/wallets.ts'
import { openBrowser } from '../../support/chromium.ts'
import { useHub } from '../../support/suite.ts'

/** Clients as their own documentation uses them: each defines `pay(secret)`, a paying fetch. */
const CLIENTS = {
  '@x402/fetch': {
    receipt: 'payment-response',
    script: `
    import { ExactEvmScheme } from '@x402/evm/exact/client'
    import { wrapFetchWithPayment, x402Client } from '@x402/fetch'
    import { privateKeyToAccount } from 'viem/accounts'
    globalThis.pay = (secret) =>
      wrapFetchWithPayment(fetch, new x402Client().register('eip155:8453',
        new ExactEvmScheme(privateKeyToAccount(secret))))`,
  },
  mppx: {
    receipt: 'payment-receipt',
    script: `
    import { evm, Mppx } from 'mppx/client'
    import { privateKeyToAccount } from 'viem/accounts'
    globalThis.pay = (secret) => {
      const account = privateKeyToAccount(secret)
      const methods = [evm({ account, currencies: [evm.assets.base.USDC] })]
      return Mppx.create({ methods, polyfill: false }).fetch
    }`,
  },
}

interface Paying {
  readonly pay: (secret: string) => typeof fetch
}

/** Sends one paid request in the page. */
async function buy(url: string, secret: string) {
  const { pay } = globalThis as unknown as Paying
  const headers = { 'content-type': 'application/json' }
  const body = '{"words":"hello"}'
  const response = await pay(secret)(url, { method: 'POST', headers, body })
  return { status: response.status, headers: Object.fromEntries(response.headers) }
}

describe('a page of another site that pays with', () => {
  const hub = useHub()
  const site = createServer((_, response) => response.end('elsewhere'))
  let browser: Browser
  before(async () => {
    site.listen(0, '127.0.0.1')
    browser = await openBrowser()
  })
  after(async () => {
    await browser.close()
    site.close()
  })

  for (const [name, { receipt, script }] of Object.entries(CLIENTS)) {
    it(`${name} gets the response and the receipt`, async () => {
      const secret = generatePrivateKey()
      const { address } = privateKeyToAccount(secret)
      await fund(hub().sandbox!.rpcUrl, address, { usdc: usd('1') })
      const page: Page = await browser.newPage()
      await page.goto(`http://127.0.0.1:${(site.address() as AddressInfo).port}/`)
      await page.addScriptTag({ content: await bundle(script) })
      const sold = await page.evaluate(buy, `${hub().url}/proxy/echo/say`, secret)
      expect(sold.status).to.equal(200)
      expect(sold.headers).to.include.keys(receipt, 'x-receipt', 'x-call-id')
    })
  }
})

/** Bundles a script for browsers. */
async function bundle(contents: string): Promise<string> {
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: import.meta.dirname },
    bundle: true,
    write: false,
    format: 'iife',
    platform: 'browser',
    logLevel: 'error',
  })
  return outputFiles[0]!.text
}
