import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import type { Browser, Page } from 'puppeteer-core'
import { openBrowser } from '../../support/own-browser.ts'
import { useHub } from '../../support/suite.ts'
import { pathsOf } from './paths.ts'
import { injectWallet, type Wallet } from './wallet.ts'

const AXE = fileURLToPath(import.meta.resolve('axe-core/axe.min.js'))

/** The reference has two hundred sections alike. */
const ONE_OF_EACH =
  "document.querySelectorAll('article ~ article').forEach((more) => more.remove())"

interface Violation {
  readonly id: string
  readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[]
}

describe('the pages in a browser', function () {
  this.timeout(120_000) // the first start of a browser, and axe, want their time
  let browser: Browser
  let axe: string
  before(async () => {
    axe = await readFile(AXE, 'utf8')
    browser = await openBrowser()
  })
  after(() => browser.close()) // before the hub, which waits for its connections
  const hub = useHub()

  /** A tab; what its pages complain of, and whom they ask, is kept. */
  async function tab(scheme = 'light', width = 1_200) {
    const page = await browser.newPage()
    const wrong: string[] = []
    await page.setViewport({ width, height: 800 })
    await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }])
    page.on('console', (message) => {
      if (message.type() === 'error') wrong.push(message.text())
    })
    page.on('pageerror', (error) => wrong.push(String(error)))
    page.on('request', (request) => {
      if (!request.url().startsWith(hub().url)) wrong.push(`asked ${request.url()}`)
    })
    return { page, wrong }
  }

  /** @param rules all of them, or those alone that depend on the colours */
  const violations = async (page: Page, rules: string): Promise<string[]> => {
    await page.evaluate(axe)
    await page.evaluate(ONE_OF_EACH)
    const found = (await page.evaluate(`axe.run(${rules})`)) as { violations: Violation[] }
    return found.violations.flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.html}`))
  }

  const SCHEMES = { light: '', dark: `{ runOnly: ['color-contrast'] }` }
  for (const [scheme, rules] of Object.entries(SCHEMES)) {
    it(`are without fault for assistive software, and ask nobody else: ${scheme}`, async () => {
      const { page, wrong } = await tab(scheme)
      await page.setBypassCSP(true) // for axe alone
      for (const path of await pathsOf(hub())) {
        await page.goto(`${hub().url}${path}`)
        expect(await violations(page, rules), path).to.deep.equal([])
        expect(wrong, path).to.deep.equal([])
      }
      await page.close()
    })
  }

  it('fit a phone: nothing has to be scrolled sideways', async () => {
    const { page } = await tab('light', 360)
    for (const path of await pathsOf(hub())) {
      await page.goto(`${hub().url}${path}`)
      const over = await page.evaluate('document.documentElement.scrollWidth - innerWidth')
      expect(over, path).to.be.at.most(0)
    }
    await page.close()
  })

  describe('at the page of a top-up', () => {
    /** Opens the page for a new key with a wallet in the browser, and presses the button. */
    async function pays(wallet: Wallet, address?: string) {
      const { keyId } = await hub().agent()
      const { page, wrong } = await tab()
      const injected = await injectWallet(page, hub().sandbox!.rpcUrl, wallet)
      await page.goto(address ?? `${hub().url}/topup?key_id=${keyId}&amount_usd=5`)
      await page.click('#pay button')
      await page.waitForFunction(
        `!document.querySelector('#pay [role=status]').matches('.busy, :empty')`,
      )
      const said = await page.$eval('#pay [role=status]', (element) => element.textContent)
      const state = await page.$eval('#pay', (element) => element.getAttribute('data-state'))
      const again = await page.$eval('button[data-copy]', (each) => each.getAttribute('data-copy')!)
      await page.close()
      return {
        again,
        said,
        state,
        wrong,
        signed: injected.signed,
        credits: await hub().balance(keyId),
      }
    }

    it('a wallet pays by one signature, and the key has the credits', async () => {
      const { said, state, wrong, signed, credits } = await pays({ usdc: 9_000_000n })
      expect(said).to.match(/^Credited\. Transaction 0x[\da-f]{64}/)
      expect([state, signed, credits]).to.deep.equal(['credited', 1, 5_000_000n])
      expect(wrong.filter((text) => !text.includes('402'))).to.deep.equal([])
    })

    it('its address, opened again, signs nothing and says that it was credited', async () => {
      const { again } = await pays({ usdc: 5_000_000n })
      const { said, signed } = await pays({ usdc: 5_000_000n }, again)
      expect(said).to.match(/^Credited\. Transaction 0x/)
      expect(signed).to.equal(0)
    })

    const REFUSED: Readonly<Record<string, readonly [Wallet, RegExp]>> = {
      'that is not there': [{ usdc: 0n, absent: true }, /No wallet was found/],
      'on another chain': [{ usdc: 9_000_000n, chainId: 1 }, /another chain/],
      'on the real chain, of a sandbox': [
        { usdc: 9_000_000n, genesis: `0x${'f7'.repeat(32)}` },
        /sandbox/,
      ],
      'with too little': [
        { usdc: 4_999_999n },
        /has 5\.00 USDC on Base, which is too little|too little/,
      ],
      'whose owner declines': [
        { usdc: 9_000_000n, declines: true },
        /You declined\. Nothing was paid/,
      ],
    }
    for (const [what, [wallet, words]] of Object.entries(REFUSED)) {
      it(`a wallet ${what} is told so, and nothing is paid`, async () => {
        const { said, signed, credits } = await pays(wallet)
        expect(said).to.match(words)
        expect([signed, credits]).to.deep.equal([0, 0n])
      })
    }

    it('without JavaScript it says so, and names another way', async () => {
      const { keyId } = await hub().agent()
      const { page } = await tab()
      await page.setJavaScriptEnabled(false)
      await page.goto(`${hub().url}/topup?key_id=${keyId}`)
      const text = await page.$eval('main', (element) => element.textContent)
      expect(text).to.include('needs JavaScript').and.to.include('npx agenthub topup 5.00')
      await page.close()
    })
  })

  it('without JavaScript one finds a service, and all of its page', async () => {
    const { page } = await tab()
    await page.setJavaScriptEnabled(false)
    await page.goto(hub().url)
    await page.type('input[name=q]', 'sentiment')
    await Promise.all([page.waitForNavigation(), page.keyboard.press('Enter')])
    await Promise.all([page.waitForNavigation(), page.click('.list a')])
    expect(page.url()).to.equal(`${hub().url}/services/analysis`)
    await page.close()
  })
})
