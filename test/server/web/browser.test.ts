import { expect } from 'chai'
import { allPages } from '../../../server/web/index.ts'
import { openSites, type Sites } from '../../core/catalog/fixture.ts'
import { ask } from '../../support/ask.ts'
import { useHub } from '../../support/suite.ts'
import { linkInOutbox, openAccount } from './account-fixture.ts'
import { peopleTests } from './account-tests.ts'
import { injectWallet, type Wallet } from './injected-wallet.ts'
import { moneyTests } from './money-tests.ts'
import { pathsOf } from './page-paths.ts'
import { sellerTests } from './seller-tests.ts'
import { useTabs } from './tabs.ts'

describe('the pages in a browser', function () {
  this.timeout(120_000) // the first start of a browser, and axe, want their time
  let sites: Sites
  let account: Awaited<ReturnType<typeof openAccount>>
  const tabs = useTabs(() => hub().url)
  const hub = useHub(async () => {
    sites = await openSites()
    return { config: { sandboxHosts: sites.sandboxHosts, proxies: 1 } }
  })
  before(async () => {
    account = await openAccount(hub(), sites)
  })
  after(() => sites.close())

  const allPaths = async () => [...(await pathsOf(hub())), ...account.paths]

  it('are without fault for assistive software, fit a phone, and ask nobody else', async () => {
    const tab = await tabs.open({ cookie: account.person.cookie })
    for (const path of await allPaths()) await tabs.assertSound(tab, path)
    await tab.close()
  })

  it('are so for who is not signed in, too', async () => {
    const tab = await tabs.open()
    await ask(hub().url, '/v1/account/sign-in', { body: { email: 'looks@example.test' } })
    const { pathname, search } = new URL(await linkInOutbox(hub(), 'looks@example.test'))
    for (const path of ['/sign-in', `${pathname}${search}`]) await tabs.assertSound(tab, path)
    await tabs.assertSound(tab, '/nowhere', 404)
    await tab.close()
  })

  it('are all among those that are looked at, here or with those of finance', async () => {
    const looked = [...(await allPaths()), ...ELSEWHERE].map((path) => path.split('?')[0]!)
    const missed = allPages({ baseUrl: () => '' } as Parameters<typeof allPages>[0])
      .map(({ path }) => path)
      .filter((path) => !/^\/(?:finance|admin)/.test(path))
      .filter((path) => {
        const pattern = new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`)
        return !looked.some((each) => pattern.test(each))
      })
    expect(missed).to.deep.equal([])
  })

  peopleTests(hub, tabs)
  moneyTests(hub, tabs)
  sellerTests(hub, tabs, () => sites)

  describe('at the page of a top-up', () => {
    /** Opens the page for a new key with a wallet in the browser, and presses the button. */
    async function pays(wallet: Wallet, address?: string) {
      const { keyId } = await hub().agent()
      const { page, wrong, close } = await tabs.open()
      const injected = await injectWallet(page, hub().sandbox!.rpcUrl, wallet)
      await page.goto(address ?? `${hub().url}/topup?key_id=${keyId}&amount_usd=5`)
      await page.click('#pay button')
      await page.waitForFunction(
        `!document.querySelector('#pay [role=status]').matches('.busy, :empty')`,
      )
      const said = await page.$eval('#pay [role=status]', (element) => element.textContent)
      const state = await page.$eval('#pay', (element) => element.getAttribute('data-state'))
      const again = await page.$eval('button[data-copy]', (each) => each.getAttribute('data-copy')!)
      await close()
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

    it('who is signed in chooses a key of theirs, pays, and is led back to it', async () => {
      const tab = await tabs.open({ cookie: account.person.cookie })
      const { page } = tab
      await injectWallet(page, hub().sandbox!.rpcUrl, { usdc: 9_000_000n })
      await tab.go('/topup')
      await page.select('[name=key_id]', account.keyId)
      await Promise.all([page.waitForNavigation(), page.click('main button')])
      await page.click('#pay button')
      await page.waitForSelector('#pay[data-state=credited] a:focus')
      const [next] = await Promise.all([page.waitForNavigation(), page.keyboard.press('Enter')])
      expect(new URL(next!.url()).pathname).to.equal(`/account/keys/${account.keyId}`)
      await tab.close()
    })

    it('without JavaScript it says so, and names another way', async () => {
      const { keyId } = await hub().agent()
      const { page, close } = await tabs.open({ scripts: false })
      await page.goto(`${hub().url}/topup?key_id=${keyId}`)
      const text = await page.$eval('main', (element) => element.textContent)
      expect(text).to.include('needs JavaScript').and.to.include('npx agenthub topup 5.00')
      await close()
    })
  })

  it('by the keyboard alone one finds a service, and copies a call of it', async () => {
    const { page, wrong, close } = await tabs.open()
    const clipboard = ['clipboard-read', 'clipboard-sanitized-write'] as const
    await page.browserContext().overridePermissions(hub().url, [...clipboard])
    /** Goes on until something is reached that is called so; everything on the way is seen. */
    const tabTo = async (name: string) => {
      for (let i = 0; i < 40; i++) {
        await page.keyboard.press('Tab')
        const [label, outline] = (await page.evaluate(FOCUSED)) as [string, string]
        expect(outline, label).to.equal('solid')
        if (label === name) return
      }
      expect.fail(`nothing is called ${name}`)
    }
    await page.goto(hub().url)
    await tabTo('What the API should do')
    await page.keyboard.type('sentiment')
    await Promise.all([page.waitForNavigation(), page.keyboard.press('Enter')])
    await tabTo('Analysis')
    await Promise.all([page.waitForNavigation(), page.keyboard.press('Enter')])
    await tabTo('POST /sentiment') // of all endpoints, it leads on to its own
    await page.keyboard.press('Enter')
    await tabTo('Copy: curl for POST /sentiment')
    await page.keyboard.press('Enter')
    await page.waitForSelector('[aria-label="Copied: curl for POST /sentiment"]:focus')
    const copied = String(await page.evaluate('navigator.clipboard.readText()'))
    expect(copied).to.match(/^curl -i '.*\/proxy\/analysis\/sentiment'/)
    expect(wrong).to.deep.equal([])
    await close()
  })

  it('without JavaScript one finds a service, and all of its page', async () => {
    const { page, close } = await tabs.open({ scripts: false })
    await page.goto(hub().url)
    await page.type('input[name=q]', 'sentiment')
    await Promise.all([page.waitForNavigation(), page.keyboard.press('Enter')])
    await Promise.all([page.waitForNavigation(), page.click('.list a')])
    expect(page.url()).to.equal(`${hub().url}/services/analysis`)
    await close()
  })
})

/** What has the focus, and whether that is seen. */
const FOCUSED = `(() => {
  const element = document.activeElement
  const label = element.getAttribute('aria-label') ?? element.textContent.trim()
  return [label, getComputedStyle(element).outlineStyle]
})()`

/** Looked at where there is something to show, or nothing to look at. */
const ELSEWHERE = ['/sign-in', '/provider/payouts/id', '/account/calls/id/receipt']
