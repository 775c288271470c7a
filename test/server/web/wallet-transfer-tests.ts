import { expect } from 'chai'
import { OutgoingSwitch } from '../../../core/payments/operations/outgoing-switch.ts'
import { reconcile } from '../../../core/reconciliation/reconcile.ts'
import type { TestHub } from '../../support/hub.ts'
import type { Person } from '../../support/person.ts'
import { sendUsdc } from '../rest/finance/platform-wallets.ts'
import { dataOf } from '../staff/fixture.ts'
import type { useTabs } from './tabs.ts'

const AMOUNTS = { true: 700_000n, false: 1_250_000n } as const

/** Tests of wallet transfers: lookup, posting and refusals. */
export function walletTransferTests(
  hub: () => TestHub,
  tabs: ReturnType<typeof useTabs>,
  person: () => Person,
): void {
  const runReconciliation = async () => {
    const { chain, treasury, spend, finality } = hub().sandbox!.money
    const wallets = { treasury, spend: spend.address }
    await reconcile({ pool: hub().hub.pool, chain, finality, wallets })
  }
  /** Sends USDC between platform wallets; reconciliation finds the transaction. */
  const sent = async (amount: bigint) => {
    await runReconciliation() // earlier balances become the opening
    const { treasury, spend } = hub().sandbox!.money
    const tx = await sendUsdc(hub(), spend.address, treasury, amount)
    await runReconciliation()
    return tx
  }

  for (const scripts of [true, false]) {
    const how = scripts ? 'with' : 'without'
    it(`a transfer is looked up, posted and linked to its entry, ${how} JavaScript`, async () => {
      const tx = await sent(AMOUNTS[`${scripts}`])
      const amount = scripts ? '0.700000' : '1.250000'
      const tab = await tabs.open({ scripts, cookie: person().cookie })
      const follow = (selector: string) =>
        Promise.all([tab.page.waitForNavigation(), tab.page.click(selector)])
      await tab.go('/finance/transfers')
      await follow(`td a[href$="${tx}"]`) // reconciliation has found it
      const found = '#found table'
      const table = await tab.page.$eval(found, (element) => element.textContent)
      expect(table).to.include(amount).and.to.include('assets:usdc:base:treasury')
      const before = dataOf(await person().ask('/v1/finance/journal?event=wallet.moved'))
      expect(JSON.stringify(before), 'the lookup posts nothing').not.to.include(tx)

      await tab.send('book', { reason: `for the treasury, ${how}` })
      expect(await tab.text())
        .to.include('Transfer posted')
        .and.to.include('Posted')
      expect(await tab.page.$('form:has([value=book])'), 'once').to.equal(null)
      const line = dataOf(await person().ask('/v1/admin/audit?act=transfer.book'))[0]!
      expect(line).to.include({ subject: tx, reason: `for the treasury, ${how}` })
      await follow(`${found} a[href^="/finance/entries/"]`)
      expect(await tab.text())
        .to.include('wallet.moved')
        .and.to.include(amount)
        .and.to.include(tx)
        .and.to.include(person().email)
      await tab.close()
    })
  }

  it('paused payments are resumed on the page of the transfer, once posted', async () => {
    const tx = await sent(300_000n)
    const why = 'Exception 1: $0.30 went to the treasury.'
    await new OutgoingSwitch(hub().hub.pool).set(true, 'reconciliation', why)
    const tab = await tabs.open({ scripts: false, cookie: person().cookie })
    await tab.go(`/finance/transfers?transaction=${tx}`)
    expect(await tab.text())
      .to.include(why)
      .and.to.include('After resolving it')
    expect(await tab.page.$('form:has([value=switch])')).to.equal(null)
    await tab.send('book', { reason: 'to the treasury' })
    expect(await tab.text())
      .to.include('Payments stay')
      .and.to.include('paused until you resume them')
    const paused = dataOf(await person().ask('/v1/admin/audit?act=outgoing.resume'))
    await tab.send('switch', { reason: 'it was us' })
    expect(await tab.text()).to.include('Payments to sellers resumed.')
    const { body } = await person().ask('/v1/finance/outgoing')
    expect(body).to.include({ paused: false, author: person().email, reason: 'it was us' })
    expect(dataOf(await person().ask('/v1/admin/audit?act=outgoing.resume'))).to.have.lengthOf(
      paused.length + 1,
    )
    await tab.close()
  })

  it('a transfer that cannot be posted shows the reason and advice', async () => {
    const tab = await tabs.open({ scripts: false, cookie: person().cookie })
    const { treasury } = hub().sandbox!.money
    const stranger = '0x00000000000000000000000000000000000005e3'
    const tx = await sendUsdc(hub(), treasury, stranger, 0n)
    const refusals = {
      '0x12': 'Enter 0x followed by 64 hexadecimal digits',
      [`0x${'ab'.repeat(32)}`]: 'The transaction is not in a block',
      [tx]: 'moves nothing between platform wallets',
    }
    for (const [transaction, words] of Object.entries(refusals)) {
      await tab.go('/finance/transfers')
      await tab.page.type('#filter-transaction', transaction)
      await Promise.all([
        tab.page.waitForNavigation(),
        tab.page.click('form[aria-label="Transaction"] button'),
      ])
      expect(await tab.page.$eval('[role=alert]', (box) => box.textContent)).to.include(words)
      expect(await tab.page.$('form:has([value=book])')).to.equal(null)
    }
    await tab.close()
  })

  it('the page of a transfer is accessible before and after posting', async () => {
    const tx = await sent(1n)
    const tab = await tabs.open({ cookie: person().cookie })
    const path = `/finance/transfers?transaction=${tx}`
    await tabs.assertAccessible(tab, path)
    const response = await person().ask('/v1/finance/transfers', {
      body: { transaction: tx, reason: 'a test' },
    })
    expect(response.status, response.text).to.equal(201)
    await tabs.assertAccessible(tab, path)
    const again = await person().ask(`/v1/finance/transfers/${tx}`)
    expect(again.body).to.deep.equal(response.body)
    await tab.close()
  })
}
