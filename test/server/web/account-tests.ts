import { expect } from 'chai'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { usd } from '../../../core/money.ts'
import { ask } from '../../support/ask.ts'
import { eventually } from '../../support/eventually.ts'
import type { TestHub } from '../../support/hub.ts'
import { linkInOutbox, signInByOutbox } from './account-fixture.ts'
import { injectWallet } from './injected-wallet.ts'
import type { useTabs } from './tabs.ts'

type Tabs = ReturnType<typeof useTabs>
type Tab = Awaited<ReturnType<Tabs['open']>>

const secretOn = ({ page }: Tab) => page.$eval('#secret', (element) => element.textContent ?? '')
const noticeOn = ({ page }: Tab) => page.$eval('[role=status]', (each) => each.textContent)

/** Tests of account pages, with and without scripts. */
export function accountTests(hub: () => TestHub, tabs: Tabs): void {
  for (const scripts of [true, false]) {
    describe(`of an account, ${scripts ? 'with scripts' : 'without scripts'}`, () => {
      it('let a person sign up with a one-time link and sign out', async () => {
        const email = `new-${scripts}@example.test`
        const tab = await tabs.open({ scripts })
        await tab.go('/account')
        expect(tab.page.url(), 'visitors are redirected to the sign-in page').to.match(/\/sign-in$/)
        await tab.send('ask', { email })
        expect(await noticeOn(tab)).to.include('Check your email')
        const link = await linkInOutbox(hub(), email)
        await tab.page.goto(link)
        expect(await tab.text()).to.include(email)
        await tab.send('confirm')
        expect(new URL(tab.page.url()).pathname).to.equal('/account')
        expect(await tab.page.$eval('#account-menu', (menu) => menu.textContent)).to.include(email)
        expect(await tab.text()).to.include('Create a key')
        const again = await tab.page.goto(link)
        expect(again?.status()).to.equal(410)
        expect(await tab.text()).to.include('Request a new link')
        await tab.go('/account/sessions')
        await tab.send('all')
        await tab.go('/account/keys')
        expect(tab.page.url()).to.match(/\/sign-in$/)
        expect(tab.errors.filter((text) => !text.includes('410'))).to.deep.equal([])
        await tab.close()
      })

      it('create a key, a sub-key and a new secret, each shown once', async () => {
        const { cookie } = await signInByOutbox(hub(), `keys-${scripts}@example.test`)
        const tab = await tabs.open({ scripts, cookie })
        await tab.go('/account/keys')
        await tab.send('make', { name: 'First' })
        const first = await secretOn(tab)
        expect(await works(first)).to.equal(200)
        await tab.page.reload()
        expect(
          await tab.page.$('#secret'),
          'reloading neither shows nor creates it again',
        ).to.equal(null)
        const root = tab.page.url()

        await tab.page.click('[popovertarget=dialog-child]')
        await tab.page.click('.picker summary')
        await tab.send('child', { name: 'Second', max_day: '1.5x', 'service-echo': 'on' })
        expect(await tab.text()).to.include('Enter dollars, such as 2.50')
        const typed = await tab.page.$eval('#child-name', (field) => field.getAttribute('value'))
        expect(typed, 'typed values stay').to.equal('Second')
        expect(await tab.text(), 'and picked services').to.include('Services: 1 chosen')
        await tab.send('child', { max_day: '1.5' })
        expect(await works(await secretOn(tab))).to.equal(200)
        expect(await tab.text()).to.include('$1.50 per day, $1.50 left; echo')
        await tab.send('limits', { max_day: '', max_total: '2', services: 'analysis' })
        expect(await noticeOn(tab)).to.include('Limits changed.')
        expect(await tab.text()).to.match(/\$2\.00 left; (?:echo, analysis|analysis, echo)/)

        await tab.page.goto(root)
        await tab.send('rate', { rate: '5000', purpose: 'Nightly reviews.' })
        expect(await noticeOn(tab)).to.include('Rate limit requested.')
        await tab.page.goto(root)
        await tab.send('rotate', { overlap: '0' })
        const second = await secretOn(tab)
        expect(await works(second)).to.equal(200)
        await eventually(async () => (await works(first)) === 401) // everywhere within a second
        await tab.send('revoke', { sure: 'on' })
        expect(await noticeOn(tab)).to.include('revoked')
        await eventually(async () => (await works(second)) === 401)
        await tab.close()
      })

      it('edit a key in a dialog that the menu of its row opens', async () => {
        const person = await signInByOutbox(hub(), `menu-${scripts}@example.test`)
        const { body: root } = await person.ask('/v1/keys', { body: {} })
        const { body: made } = await person.ask('/v1/keys', { body: { parent: root['key_id'] } })
        const id = String(made['key_id'])
        const tab = await tabs.open({ scripts, cookie: person.cookie })
        const { page } = tab
        await tab.go('/account/keys')
        const button = await page.$(`[popovertarget="menu-${id}"]`)
        await button!.click()
        const menu = await page.$(`#menu-${id}:popover-open`)
        const [from, to] = await Promise.all([button!.boundingBox(), menu!.boundingBox()])
        expect(Math.abs(to!.y - from!.y - from!.height), 'below its button').to.be.below(16)
        await Promise.all([
          page.waitForNavigation(),
          page.click(`#menu-${id} a[href*="edit=limits"]`),
        ])
        const shown = '#dialog-limits[open]'
        expect(await page.$eval(shown, (dialog) => dialog.checkVisibility())).to.equal(true)
        await tab.send('limits', { max_day: 'x' })
        const error = await page.$eval(`${shown} .error`, (each) => each.textContent)
        expect(error, 'shown in the dialog').to.include('Enter dollars')
        await tab.send('limits', { max_day: '3' })
        expect(await noticeOn(tab)).to.include('Limits changed.')
        await page.click('[popovertarget=more-actions]')
        await page.click('[popovertarget=dialog-rename]')
        const typed = await page.evaluate('document.activeElement.name')
        expect(typed, 'its first field has the focus').to.equal('name')
        await page.keyboard.press('Escape')
        expect(await page.$('dialog:popover-open')).to.equal(null)
        await tab.send('rename', { name: 'Night shift' })
        expect(await tab.text()).to.include('Night shift')
        await tab.go(`/account/keys/${String(root['key_id'])}`)
        const height = await page.$eval('.actions', (each) => each.getBoundingClientRect().height)
        expect(height, 'one row of buttons').to.be.below(60)
        await tab.send('threshold', { low_balance: 'x' })
        expect(await tab.dialog()).to.include('Enter dollars')
        await tab.send('threshold', { low_balance: '2.5' })
        expect(await tab.text()).to.include('below $2.50')
        await tab.go('/account/notifications')
        await tab.send('balance')
        expect(await tab.text()).to.include('Stop emails about low balances')
        expect(tab.errors.filter((text) => !text.includes('422'))).to.deep.equal([])
        await tab.close()
      })

      it('freeze a sub-key with a reason and unfreeze it', async () => {
        const person = await signInByOutbox(hub(), `freeze-${scripts}@example.test`)
        const { body: root } = await person.ask('/v1/keys', { body: {} })
        const { body: made } = await person.ask('/v1/keys', { body: { parent: root['key_id'] } })
        const tab = await tabs.open({ scripts, cookie: person.cookie })
        await tab.go(`/account/keys/${String(made['key_id'])}`)
        await tab.send('freeze', { reason: 'It talks too much.' })
        await eventually(async () => (await works(String(made['api_key']))) === 403)
        expect(await tab.text()).to.include('It talks too much.')
        await tab.send('thaw')
        await eventually(async () => (await works(String(made['api_key']))) === 200)
        await tab.close()
      })

      it('link a charge in the history to its receipt, which verifies', async () => {
        const person = await signInByOutbox(hub(), `history-${scripts}@example.test`)
        const { body: made } = await person.ask('/v1/keys', { body: {} })
        await hub().credit(String(made['key_id']), usd('5'))
        const key = String(made['api_key'])
        await ask(hub().url, '/proxy/echo/say', { key, body: { words: 'hello' } })
        const tab = await tabs.open({ scripts, cookie: person.cookie })
        await tab.go('/account/history')
        expect(await tab.text())
          .to.include('+$5.00')
          .and.to.include('echo POST /say')
        const { page } = tab
        const rows = await page.$$eval('tbody tr', (all) => all.map((row) => row.textContent))
        expect(rows, 'one for the call and its reservation').to.have.length(2)
        expect(rows[0], 'change and balance').to.match(/-\$0\.0001\s*\$4\.9999$/)
        await Promise.all([page.waitForNavigation(), page.click('tbody a[href*="/calls/"]')])
        expect(await tab.text())
          .to.include('charged')
          .and.to.include('$0.0001')
        const href = await page.$eval('a[href*="/receipt"]', (link) => link.getAttribute('href'))
        const file = await person.ask(String(href))
        expect(file.headers['content-disposition']).to.match(/attachment; filename="receipt-.*jws"/)
        const { body } = await ask(hub().url, '/v1/receipts/verify', {
          body: { receipt: file.text.trim() },
        })
        expect(body).to.include({ valid: true, books: 'agree' })
        await tab.close()
      })

      it('add a webhook, test it, show the result and rotate its secret', async () => {
        const { cookie } = await signInByOutbox(hub(), `hooks-${scripts}@example.test`)
        const tab = await tabs.open({ scripts, cookie })
        await tab.go('/account/webhooks')
        await tab.send('make', { url: 'http://agent.test/events' })
        expect(await tab.text(), 'no event was selected').to.include('Select at least one')
        await tab.page.click('#flash a') // links to a checkbox that was not sent
        expect(await tab.page.$eval(':target', (box) => box.getAttribute('name'))).to.match(/^on:/)
        await tab.send('make', { url: 'http://agent.test:81/events', 'on:balance.low': 'on' })
        expect(await tab.text())
          .to.include('The port is not allowed')
          .and.not.to.include('Url:')
        await tab.send('make', { url: 'http://agent.test/events' })
        const first = await secretOn(tab)
        expect(first).to.match(/^whsec_/)
        await tab.send('test')
        expect(await tab.text()).to.include('webhook.test')
        await tab.send('rotate')
        expect(await secretOn(tab))
          .to.match(/^whsec_/)
          .and.not.to.equal(first)
        await tab.send('change', { 'on:call.refunded': 'on' })
        expect(await tab.text()).to.include('balance.low, call.refunded')
        await tab.go('/account/webhooks')
        await tab.choose('http://agent.test/events', 'a[href*="edit=change"]')
        await tab.send('change', { url: 'http://agent.test:81/events' })
        const rejected = await tab.page.$eval('dialog[open]', (dialog) => dialog.textContent)
        expect(rejected, 'in the dialog').to.include('The port is not allowed')
        await tab.send('change', { url: 'http://agent.test/other' })
        expect(await tab.text()).to.include('http://agent.test/other')
        await tab.send('delete', { sure: 'on' })
        expect(await tab.text()).to.include('No webhooks yet')
        await tab.close()
      })
    })
  }

  it('link a browser wallet with one signature, and unlink it', async () => {
    const { cookie } = await signInByOutbox(hub(), 'wallet@example.test')
    const tab = await tabs.open({ cookie })
    const injected = await injectWallet(tab.page, hub().sandbox!.rpcUrl, { usdc: 0n })
    await tab.go('/account/wallets')
    for (let step = 0; step < 2; step++) {
      await Promise.all([tab.page.waitForNavigation(), tab.page.click('[data-wallet] button')])
    }
    expect(await noticeOn(tab)).to.include('linked')
    expect(await tab.text()).to.include(injected.address)
    expect(injected.signed).to.equal(1)
    await tab.send('unlink')
    expect(await tab.text()).to.include('No wallets linked')
    expect(tab.errors).to.deep.equal([])
    await tab.close()
  })

  it('link a wallet without scripts, with a pasted signature', async () => {
    const account = privateKeyToAccount(generatePrivateKey())
    const { cookie } = await signInByOutbox(hub(), 'by-hand@example.test')
    const tab = await tabs.open({ cookie, scripts: false })
    await tab.go('/account/wallets')
    await tab.send('ask', { wallet_address: 'somewhere' })
    expect(await tab.text()).to.include('Must be a wallet address')
    await tab.send('ask', { wallet_address: account.address })
    const message = await tab.page.$eval('main pre', (element) => element.textContent ?? '')
    const other = privateKeyToAccount(generatePrivateKey())
    await tab.send('sign', { signature: await other.signMessage({ message }) })
    expect(await tab.text()).to.include('Invalid signature.')
    await tab.send('sign', { signature: await account.signMessage({ message }) })
    expect(await tab.text()).to.include(account.address)
    await tab.close()
  })

  it('show an empty state where there is no data yet', async () => {
    const person = await signInByOutbox(hub(), 'nobody-yet@example.test')
    const account = ['', '/keys', '/history', '/webhooks', '/wallets', '/sessions']
    const provider = ['', '/services', '/domains', '/statistics', '/payouts']
    const all = [
      ...account.map((path) => `/account${path}`),
      ...provider.map((path) => `/provider${path}`),
    ]
    for (const path of all) {
      const { status, text, headers } = await person.ask(path, { headers: { accept: 'text/html' } })
      expect(status, path).to.equal(200)
      expect(text, path).not.to.match(/undefined|NaN|\[object/)
      expect(headers['cache-control'], path).to.equal('no-store')
    }
  })

  it('neither show nor change anything of another account', async () => {
    const [mine, theirs] = [
      await signInByOutbox(hub(), 'mine@example.test'),
      await signInByOutbox(hub(), 'theirs@example.test'),
    ]
    const { body: key } = await theirs.ask('/v1/keys', { body: {} })
    const id = String(key['key_id'])
    const headers = { accept: 'text/html', 'content-type': FORM }
    for (const path of [`/account/keys/${id}`, `/account/history?key=${id}`]) {
      expect((await mine.ask(path, { headers })).status, path).to.equal(404)
    }
    const send = (origin: string) =>
      mine.ask(`/account/keys/${id}`, {
        body: 'act=revoke&sure=on',
        headers: { ...headers, origin },
      })
    expect((await send(new URL(hub().url).origin)).status).to.equal(404)
    expect((await send('https://evil.example')).status, 'from another site').to.equal(403)
    const odd = await mine.ask(`/account/keys/${id}`, {
      body: { act: 'revoke', sure: { on: true } },
      headers: { accept: 'text/html' },
    })
    expect(odd.status, 'not a form value').to.equal(422)
    expect(await works(String(key['api_key']))).to.equal(200)
  })

  const works = async (key: string) => (await ask(hub().url, '/v1/credits/balance', { key })).status
}

const FORM = 'application/x-www-form-urlencoded'
