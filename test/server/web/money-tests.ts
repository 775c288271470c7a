import { expect } from 'chai'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { readConfig } from '../../../core/config.ts'
import { earningsOf } from '../../../core/ledger/postings.ts'
import { micros, usd } from '../../../core/money.ts'
import { USDC_BASE } from '../../../core/payments/chain/asset.ts'
import { createOffers } from '../../../core/payments/receiving/offers.ts'
import { type PayoutSettings, payProviders } from '../../../jobs/pay-providers.ts'
import { ask } from '../../support/ask.ts'
import { earn as postEarning } from '../../support/earn.ts'
import { eventually } from '../../support/eventually.ts'
import type { TestHub } from '../../support/hub.ts'
import type { Person } from '../../support/person.ts'
import { signInByOutbox } from './account-fixture.ts'
import { injectWallet } from './injected-wallet.ts'
import { linkTwoKeys, signFor } from './linked-wallet.ts'
import type { useTabs } from './tabs.ts'

/** Tests of key-to-key transfers, receipts and payouts. */
export function moneyTests(hub: () => TestHub, tabs: ReturnType<typeof useTabs>): void {
  async function twoKeys(email: string) {
    const person = await signInByOutbox(hub(), email)
    return { person, ...(await linkTwoKeys(hub(), person)) }
  }

  for (const scripts of [true, false]) {
    const how = scripts ? 'with' : 'without'
    it(`transfer credits between two keys of a wallet, ${how} scripts`, async () => {
      const { person, account, first, second } = await twoKeys(`moves-${scripts}@example.test`)
      const tab = await tabs.open({ scripts, cookie: person.cookie })
      const { page } = tab
      const wallet = await injectWallet(page, hub().sandbox!.rpcUrl, { usdc: 0n, account })
      await tab.go(`/account/keys/${first}`)
      await Promise.all([page.waitForNavigation(), page.click('a[href*="/account/transfer"]')])
      const chosen = await page.$eval('[name=from_key_id]', (each) => each.getAttribute('id'))
      expect(
        await page.$eval(`#${chosen} [selected]`, (each) => each.getAttribute('value')),
      ).to.equal(first)
      await tab.send('ask', { to_key_id: first, amount: '2' })
      expect(await tab.text()).to.include('Choose two different keys')
      const code = '#flash a[href="/docs/problems/validation_failed"]'
      expect(await page.$(code), 'the page of the code').not.to.equal(null)
      await tab.send('ask', { to_key_id: second, amount: '1.25' })
      expect(await tab.text()).to.include('$1.25')
      if (scripts) {
        await Promise.all([page.waitForNavigation(), page.click('[data-wallet] button')])
        expect(wallet.signed).to.equal(1)
      } else {
        const message = await page.$eval('main pre', (element) => element.textContent ?? '')
        await tab.send('sign', { signature: await account.signMessage({ message: `${message}!` }) })
        expect(await tab.text()).to.include('Invalid signature')
        await tab.send('sign', { signature: await account.signMessage({ message }) })
      }
      expect(await tab.text()).to.include('Credits transferred')
      const left = await Promise.all([first, second].map((key) => hub().balance(key)))
      expect(left).to.deep.equal([3_750_000n, 1_250_000n])
      await tab.go(`/account/history?key=${second}`)
      expect(await tab.text())
        .to.include('transfer')
        .and.to.include('+$1.25')
      await tab.close()
    })
  }

  it('show a call to its account and to no one else', async () => {
    const { person, apiKey } = await twoKeys('finds@example.test')
    const response = await ask(hub().url, '/proxy/echo/say', { key: apiKey, body: { words: 'hi' } })
    const path = `/account/calls/${String(response.headers['x-call-id'])}`
    const headers = { accept: 'text/html' }
    const page = await person.ask(path, { headers })
    expect(page.status).to.equal(200)
    expect(page.text).to.include('echo POST /say').and.to.include('$0.0001')
    expect((await person.ask(`${path}/receipt`, { headers })).text).to.match(/^ey/)
    const stranger = await signInByOutbox(hub(), 'finds-nothing@example.test')
    expect((await stranger.ask(path, { headers })).status).to.equal(404)
    expect((await person.ask('/account/calls/none', { headers })).status).to.equal(404)
  })

  it('show the lines of a payout to its provider and to no one else', async () => {
    const person = await signInByOutbox(hub(), 'paid@example.test')
    const wallet = privateKeyToAccount(generatePrivateKey())
    await signFor(person, wallet, '/v1/provider/payout-address', 'PUT')
    await earn(hub(), person)
    await payNow(hub())
    expect(await hub().sandbox!.money.chain.balanceOf(wallet.address)).to.equal(2_000_000n)

    const tab = await tabs.open({ cookie: person.cookie, scripts: false })
    await tab.go('/provider/payouts')
    const chart = await tab.page.$eval('svg[aria-label^="Payouts by month"]', (svg) =>
      svg.getAttribute('aria-label'),
    )
    expect(chart).to.equal('Payouts by month: $2.00 in the current one')
    const row = 'td a[href^="/provider/payouts/"]'
    await Promise.all([tab.page.waitForNavigation(), tab.page.click(row)])
    const { rows } = await hub().hub.pool.query<{ transaction: string }>(
      'SELECT transaction FROM hub.payout WHERE payee = $1',
      [wallet.address.toLowerCase()],
    )
    for (const words of ['sent', '$2.00', wallet.address, rows[0]!.transaction]) {
      expect(await tab.text()).to.include(words)
    }
    const events = await tab.page.$$eval('tr td:nth-child(2)', (cells) =>
      cells.map((cell) => cell.textContent),
    )
    expect(events.filter((event) => event === 'call')).to.have.length(2)
    const accessible = await tabs.open({ cookie: person.cookie })
    await tabs.assertAccessible(accessible, new URL(tab.page.url()).pathname)
    await accessible.close()
    const file = await tab.page.$eval('a[href$=".csv"]', (each) => each.getAttribute('href'))
    const csv = await person.ask(String(file))
    expect(csv.text.trim().split('\r\n'), 'a header and one line per entry').to.have.length(3)
    const stranger = await signInByOutbox(hub(), 'not-paid@example.test')
    const { pathname } = new URL(tab.page.url())
    const response = await stranger.ask(pathname, { headers: { accept: 'text/html' } })
    expect(response.status).to.equal(404)
    await tab.close()
  })
}

/** Posts two earnings of $1 each. */
export async function earn({ hub: { pool, ledger } }: TestHub, person: Person): Promise<void> {
  const { body } = await person.ask('/v1/account')
  const { rows } = await pool.query<{ id: string }>(
    'SELECT id FROM hub.provider WHERE owner = $1',
    [body['account_id']],
  )
  const owner = await ledger.open(earningsOf(rows[0]!.id, 'tides', false), 'USDC')
  for (let i = 0; i < 2; i++) await postEarning(ledger, owner, usd('1'))
}

/** Runs the payout job now. */
export async function payNow({ hub, sandbox }: TestHub): Promise<void> {
  const { facilitator, treasury: payTo, spend: account } = sandbox!.money
  const offers = createOffers({ facilitator, payTo, network: USDC_BASE.network })
  const settle: PayoutSettings['settle'] = (...payment) => offers.settle(...payment)
  const { rules } = readConfig({}).payouts
  const payouts = { account, settle, minimum: micros(1_000_000n), rules }
  const { signal } = new AbortController()
  await payProviders({ ...hub.paymentDeps, pool: hub.financePool, payouts }, signal)
  await eventually(async () => {
    const { rows } = await hub.pool.query(`SELECT FROM hub.payout WHERE state = 'started'`)
    return rows.length === 0 // possibly by the hub's own job
  })
}
