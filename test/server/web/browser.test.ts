import { expect } from 'chai'
import { openSites, type Sites } from '../../core/catalog/world.ts'
import { useHub } from '../../support/suite.ts'
import { openAccount } from './account.ts'
import { pathsOf } from './paths.ts'
import { peopleTests } from './people.ts'
import { sellerTests } from './sellers.ts'
import { useTabs } from './tabs.ts'
import { injectWallet, type Wallet } from './wallet.ts'

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
    const { page, wrong, go, look, close } = await tabs.open({ cookie: account.person.cookie })
    await page.setBypassCSP(true) // for axe alone
    for (const path of await allPaths()) {
      await look({ scheme: 'light', width: 1_200 })
      expect((await go(path))?.status(), path).to.equal(200)
      expect(await tabs.violations(page, ''), path).to.deep.equal([])
      await look({ scheme: 'dark', width: 1_200 })
      expect(await tabs.violations(page, CONTRAST), `${path}, dark`).to.deep.equal([])
      await look({ width: 360 })
      const over = await page.evaluate('document.documentElement.scrollWidth - innerWidth')
      expect(over, `${path} is scrolled sideways`).to.be.at.most(0)
      expect(wrong, path).to.deep.equal([])
    }
    await close()
  })

  peopleTests(hub, tabs)
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

    it('without JavaScript it says so, and names another way', async () => {
      const { keyId } = await hub().agent()
      const { page, close } = await tabs.open({ scripts: false })
      await page.goto(`${hub().url}/topup?key_id=${keyId}`)
      const text = await page.$eval('main', (element) => element.textContent)
      expect(text).to.include('needs JavaScript').and.to.include('npx agenthub topup 5.00')
      await close()
    })
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

const CONTRAST = `{ runOnly: ['color-contrast'] }`
