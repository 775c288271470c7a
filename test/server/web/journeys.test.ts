import { expect } from 'chai'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { elapsedMs } from '../../../core/clock.ts'
import { openTestSites, paths, type TestSites } from '../../core/catalog/fixture.ts'
import { ask } from '../../support/ask.ts'
import { eventually } from '../../support/eventually.ts'
import { useHub } from '../../support/suite.ts'
import { linkInOutbox, PROOF, signInByOutbox } from './account-fixture.ts'
import { injectWallet } from './injected-wallet.ts'
import { useTabs } from './tabs.ts'

/** Time within which a newcomer makes the first call. */
const FIRST_CALL_MS = 120_000

const SENTENCE = '<p>The harbor master reads the tide gauge at dawn and again at dusk.</p>'
const ARTICLE = `<!doctype html><html lang="en"><title>High water</title><article>
<h1>High water</h1>${SENTENCE.repeat(12)}</article></html>`

describe('journeys through the pages', function () {
  this.timeout(180_000) // starting the browser takes time
  let sites: TestSites
  const tabs = useTabs(() => hub().url)
  const hub = useHub(async () => {
    sites = await openTestSites()
    return { config: { sandboxHosts: sites.sandboxHosts, proxies: 1, jobs: true } }
  })
  after(() => sites.close())

  /** Clicks a link or a button and waits for the next page. */
  const follow = ({ page }: Awaited<ReturnType<typeof tabs.open>>, selector: string) =>
    Promise.all([page.waitForNavigation(), page.click(selector)])

  for (const scripts of [true, false]) {
    const how = scripts ? 'with scripts' : 'without scripts'

    it(`lead a newcomer to the first call in two minutes, ${how}`, async () => {
      const start = elapsedMs()
      const email = `newcomer-${scripts}@example.test`
      const tab = await tabs.open({ scripts })
      await tab.go('/')
      await follow(tab, '.hero a.button')
      expect(tab.page.url(), 'a key needs an account').to.match(/\/sign-in#make$/)
      await tab.send('ask', { email })
      expect(await tab.text(), 'the address, to notice a typo')
        .to.include(`to ${email}`)
        .and.to.include('Send it again')
      await tab.page.goto(await linkInOutbox(hub(), email))
      await tab.send('confirm')
      expect(await tab.text()).to.include('0 of 4 steps done')
      expect(await tab.send('make', { name: 'First agent' })).to.include('Key created')
      await follow(tab, '#flash a[href="/account"]')
      expect(await tab.text()).to.include('1 of 4 steps done')
      await follow(tab, '[aria-current=step] a.button')
      const text = await tab.send('run')
      expect(text).to.include('The call succeeded.').and.to.include('You were not charged')
      expect(elapsedMs() - start).to.be.below(FIRST_CALL_MS)
      await eventually(async () => {
        await tab.go('/account')
        return (await tab.text()).includes('2 of 4 steps done')
      })
      await follow(tab, '[aria-current=step] a.button')
      expect(await tab.text()).to.include('Test credits')
      expect(await tab.send('test')).to.include('Credited $5.00')
      await tab.go('/account')
      await follow(tab, '[aria-current=step] a.button')
      await tab.send('child', { name: 'Night shift', max_day: '1' })
      await tab.go('/account')
      expect(await tab.text(), 'all steps are done').not.to.include('steps done')
      expect(tab.errors).to.deep.equal([])
      await tab.close()
    })

    it(`sign a newcomer up with one of two wallets, ${how}`, async () => {
      const tab = await tabs.open({ scripts })
      const wallet = { usdc: 0n, account: privateKeyToAccount(generatePrivateKey()) }
      if (scripts) {
        const announced = ['Harbor Wallet', 'Tide Wallet']
        await injectWallet(tab.page, hub().sandbox!.rpcUrl, { ...wallet, announced })
      }
      await tab.go('/sign-in')
      if (scripts) {
        await tab.page.select('#wallet', 'Tide Wallet')
        await follow(tab, '[data-wallet=connect] button')
        await tab.page.select('#wallet', 'Tide Wallet')
        await follow(tab, '[data-wallet=sign] button')
        expect(await tab.page.evaluate('sessionStorage.used')).to.equal('Tide Wallet')
      } else {
        await tab.send('wallet', { wallet_address: wallet.account.address })
        const message = await tab.page.$eval('main pre', (pre) => pre.textContent)
        const signature = await wallet.account.signMessage({ message })
        await tab.send('sign', { signature })
      }
      expect(await tab.text()).to.include('0 of 4 steps done')
      if (scripts) await tabs.assertAccessible(tab, '/account/notifications')
      else await tab.go('/account/notifications')
      expect(await tab.text()).to.include('need an account with an email')
      if (scripts) await tabs.assertAccessible(tab, '/account/wallets')
      else await tab.go('/account/wallets')
      expect(await tab.text()).to.include(wallet.account.address)
      await tab.close()
    })

    it(`lead an owner from a domain to its first sold page, ${how}`, async () => {
      const [host, slug] = scripts ? ['shop.test', 'journal'] : ['other.test', 'gazette']
      const { cookie } = await signInByOutbox(hub(), `owner-${scripts}@example.test`)
      const tab = await tabs.open({ scripts, cookie })
      await tab.go('/provider/domains')
      await tab.send('add', { domain: `http://${host}`, slug })
      const token = await tab.page.$eval('.steps li p:last-child code', (code) => code.textContent)
      sites.at(
        host,
        paths({
          [PROOF]: (_, response) => response.end(String(token)),
          '/news/tides': (_, response) => {
            response.setHeader('Content-Type', 'text/html')
            response.end(ARTICLE)
          },
        }),
      )
      await tab.send('verify')
      await tab.send('rule', { path: '/news/**', price: '0.004', fast: 'on' })
      const domainPath = new URL(tab.page.url()).pathname
      await tab.go(domainPath)
      await tab.page.type('#try-url', `http://${host}/news/tides`)
      await follow(tab, 'form:has(#try-url) button')
      expect(await tab.text()).to.include('$0.004 by the rule')
      const preview = await tab.send('preview')
      expect(preview, 'the extracted text beside price and rule')
        .to.include('This is what agents get')
        .and.to.include('The harbor master reads the tide gauge')
        .and.to.match(/Rule\s*\/news\/\*\*/)
      const { apiKey: key, keyId } = await hub().agent()
      await hub().credit(keyId, 1_000_000n)
      const url = encodeURIComponent(`http://${host}/news/tides`)
      const sold = await ask(hub().url, `/proxy/${slug}/fetch?url=${url}`, { method: 'GET', key })
      expect(sold.status, hub().logged().slice(-3000)).to.equal(200)
      await eventually(async () => {
        await tab.go(domainPath)
        return /\/news\/tides\s*1/.test(await tab.text())
      })
      expect(tab.errors).to.deep.equal([])
      await tab.close()
    })
  }
})
