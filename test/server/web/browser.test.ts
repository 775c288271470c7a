import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { allPages } from '../../../server/web/index.ts'
import { openTestSites, type TestSites } from '../../core/catalog/fixture.ts'
import { ask } from '../../support/ask.ts'
import { useHub } from '../../support/suite.ts'
import { linkInOutbox, openAccount } from './account-fixture.ts'
import { accountTests } from './account-tests.ts'
import { catalogTests } from './catalog-tests.ts'
import { injectWallet, type Wallet } from './injected-wallet.ts'
import { keyboardTests } from './keyboard-tests.ts'
import { moneyTests } from './money-tests.ts'
import { pathsOf } from './page-paths.ts'
import { sellerTests } from './seller-tests.ts'
import { LAYOUT_SHIFT, useTabs } from './tabs.ts'

describe('pages in a browser', function () {
  this.timeout(240_000) // starting the browser and axe take time
  let sites: TestSites
  let account: Awaited<ReturnType<typeof openAccount>>
  const tabs = useTabs(() => hub().url)
  const hub = useHub(async () => {
    sites = await openTestSites()
    return { config: { sandboxHosts: sites.sandboxHosts, proxies: 1, jobs: true } }
  })
  before(async () => {
    account = await openAccount(hub(), sites)
  })
  after(() => sites.close())

  const allPaths = async () => [...(await pathsOf(hub())), ...account.paths]

  it('are accessible, fit a phone and load resources only from the hub', async () => {
    const tab = await tabs.open({ cookie: account.person.cookie })
    for (const path of await allPaths()) await tabs.assertAccessible(tab, path)
    await tab.close()
  })

  it('are accessible to visitors who are not signed in', async () => {
    const tab = await tabs.open()
    await ask(hub().url, '/v1/account/sign-in', { body: { email: 'visitor@example.test' } })
    const { pathname, search } = new URL(await linkInOutbox(hub(), 'visitor@example.test'))
    const unsubscribe = `/unsubscribe?token=${randomUUID()}`
    for (const path of ['/sign-in', `${pathname}${search}`, unsubscribe])
      await tabs.assertAccessible(tab, path)
    await tabs.assertAccessible(tab, '/nowhere', 404)
    await tab.close()
  })

  it('would fail these tests if something moved after it was shown', async () => {
    const { page, go, close } = await tabs.open()
    await go('/status')
    expect(await page.evaluate(LAYOUT_SHIFT)).to.be.below(0.001)
    await page.evaluate("document.querySelector('h1').style.marginTop = '90px'")
    expect(await page.evaluate(LAYOUT_SHIFT)).to.be.greaterThan(0.001)
    await close()
  })

  it('are all covered by these accessibility tests', async () => {
    const checked = [...(await allPaths()), ...CHECKED_ELSEWHERE].map((path) => path.split('?')[0]!)
    const missed = allPages({ baseUrl: () => '' } as Parameters<typeof allPages>[0])
      .map(({ path }) => path)
      .filter((path) => !/^\/(?:finance|admin)/.test(path))
      .filter((path) => {
        const pattern = new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`)
        return !checked.some((each) => pattern.test(each))
      })
    expect(missed).to.deep.equal([])
  })

  accountTests(hub, tabs)
  catalogTests(tabs)
  moneyTests(hub, tabs)
  sellerTests(hub, tabs, () => sites)

  describe('top-up page', () => {
    /** Pays on the page of a new key with the browser's wallet. */
    async function payWith(wallet: Wallet, address?: string) {
      const { keyId } = await hub().agent()
      const { page, errors, close } = await tabs.open()
      const injected = await injectWallet(page, hub().sandbox!.rpcUrl, wallet)
      await page.goto(address ?? `${hub().url}/topup?key_id=${keyId}&amount_usd=5`)
      await page.click('#pay button')
      await page.waitForSelector('#flash, #pay [role=status]:not(.busy, :empty)')
      const status = await page.$eval('main', (main) => main.textContent)
      const pageLink = page.url()
      await close()
      return {
        pageLink,
        status,
        errors,
        signed: injected.signed,
        credits: await hub().balance(keyId),
      }
    }

    it('credits the key for one signature of the wallet', async () => {
      const { status, errors, signed, credits } = await payWith({ usdc: 9_000_000n })
      expect(status).to.match(/Credited \$5\.00\.[^]*Transaction\s*0x[\da-f]{64}/)
      expect([signed, credits]).to.deep.equal([1, 5_000_000n])
      expect(errors.filter((text) => !text.includes('402'))).to.deep.equal([])
    })

    it('shows the receipt without a button when its link is opened again', async () => {
      const { pageLink } = await payWith({ usdc: 5_000_000n })
      const { page, close } = await tabs.open()
      await page.goto(pageLink)
      expect(await page.$eval('#flash', (each) => each.textContent)).to.include('Credited $5.00.')
      expect(await page.$('#pay')).to.equal(null)
      const step = await page.$eval('[aria-current=step]', (each) => each.textContent)
      expect(step).to.equal('Credited')
      await close()
    })

    it('takes no second payment if the response is lost and the page reloaded', async () => {
      const { keyId } = await hub().agent()
      const { page, close } = await tabs.open()
      const injected = await injectWallet(page, hub().sandbox!.rpcUrl, { usdc: 9_000_000n })
      await page.goto(`${hub().url}/topup?key_id=${keyId}&amount_usd=5`)
      await page.evaluate(LOSE_RESPONSES)
      await page.click('#pay button')
      await page.waitForFunction('globalThis.lost >= 2')
      await page.reload()
      await page.waitForSelector('#flash')
      expect([injected.signed, await hub().balance(keyId)]).to.deep.equal([1, 5_000_000n])
      await close()
    })

    it('lets the payer choose among the announced wallets', async () => {
      const { keyId } = await hub().agent()
      const { page, close } = await tabs.open()
      const wallet = { usdc: 9_000_000n, announced: ['First', 'Second'] }
      await injectWallet(page, hub().sandbox!.rpcUrl, wallet)
      await page.goto(`${hub().url}/topup?key_id=${keyId}&amount_usd=5`)
      await page.waitForSelector('#wallet', { visible: true })
      const names = await page.$$eval('#wallet option', (all) =>
        all.map((each) => each.textContent),
      )
      expect(names).to.deep.equal(['First', 'Second'])
      await page.select('#wallet', 'Second')
      await page.click('#pay button')
      await page.waitForSelector('#flash')
      expect(await page.evaluate(`sessionStorage.used`)).to.equal('Second')
      await close()
    })

    it('adds test credits in a sandbox, without JavaScript, once', async () => {
      const tab = await tabs.open({ cookie: account.person.cookie, scripts: false })
      const before = await hub().balance(account.keyId)
      await tab.go(`/topup?key_id=${account.keyId}&amount_usd=20`)
      await Promise.all([
        tab.page.waitForNavigation(),
        tab.page.click('.view-switch a[href$="amount_usd=5"]'),
      ])
      const address = tab.page.url()
      await tab.send('test')
      expect(await tab.text()).to.match(/Credited \$5\.00\.[^]*New balance/)
      expect(tab.page.url().replace('#flash', '')).to.equal(address)
      const again = await ask(hub().url, new URL(address).pathname, {
        method: 'POST',
        headers: { accept: 'text/html', origin: hub().url, ...FORM },
        body: `act=test&${new URL(address).search.slice(1)}`,
      })
      expect(again.status).to.equal(303)
      expect(await hub().balance(account.keyId)).to.equal(before + 5_000_000n)
      await tab.close()
    })

    const REFUSED: Readonly<Record<string, readonly [Wallet, RegExp]>> = {
      'is absent': [{ usdc: 0n, absent: true }, /No wallet found/],
      'is on another chain': [{ usdc: 9_000_000n, chainId: 1 }, /another chain/],
      'of a sandbox user is on the real chain': [
        { usdc: 9_000_000n, genesis: `0x${'f7'.repeat(32)}` },
        /sandbox/,
      ],
      'has too little USDC': [{ usdc: 4_999_999n }, /has only [45]\.\d\d USDC on Base/],
      declines: [{ usdc: 9_000_000n, declines: true }, /You declined\. Nothing was paid/],
    }
    for (const [what, [wallet, words]] of Object.entries(REFUSED)) {
      it(`explains the problem and pays nothing if the wallet ${what}`, async () => {
        const { status, signed, credits } = await payWith(wallet)
        expect(status).to.match(words)
        expect([signed, credits]).to.deep.equal([0, 0n])
      })
    }

    it('lets a signed-in user choose a key, pay and return to the key', async () => {
      const tab = await tabs.open({ cookie: account.person.cookie })
      const { page } = tab
      await injectWallet(page, hub().sandbox!.rpcUrl, { usdc: 9_000_000n })
      await tab.go('/topup')
      await page.select('[name=key_id]', account.keyId)
      await Promise.all([page.waitForNavigation(), page.click('main button')])
      await page.click('#pay button')
      await page.waitForSelector('#flash:focus')
      expect(await tab.text()).to.include('New balance')
      const [next] = await Promise.all([page.waitForNavigation(), page.click('.actions .button')])
      expect(new URL(next!.url()).pathname).to.equal(`/account/keys/${account.keyId}`)
      await tab.close()
    })

    it('shows the command line as an alternative without JavaScript', async () => {
      const { keyId } = await hub().agent()
      const { page, close } = await tabs.open({ scripts: false })
      await page.goto(`${hub().url}/topup?key_id=${keyId}`)
      const text = await page.$eval('main', (element) => element.textContent)
      expect(text)
        .to.include('needs JavaScript')
        .and.to.match(/npx http:\S+\.tgz topup 5\.00/)
      await close()
    })
  })

  keyboardTests(hub, tabs)
})

const FORM = { 'content-type': 'application/x-www-form-urlencoded' }

/** Makes the page lose all responses to payments, which reach the hub. */
const LOSE_RESPONSES = `(() => {
  globalThis.lost = 0
  const send = fetch
  globalThis.fetch = async (...request) => {
    const response = await send(...request)
    if (response.status === 402) return response
    globalThis.lost++
    throw new TypeError('lost')
  }
})()`

/** Paths checked in other tests, or without a page of their own. */
const CHECKED_ELSEWHERE = [
  '/search',
  '/sign-in',
  '/unsubscribe',
  '/provider/payouts/id',
  '/account/calls.csv',
  '/account/calls/id/receipt',
]
