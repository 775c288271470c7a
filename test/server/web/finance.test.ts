import { gunzipSync } from 'node:zlib'
import { expect } from 'chai'
import { request } from 'undici'
import { monthName, monthStart, systemClock } from '../../../core/clock.ts'
import { writeNextExport } from '../../../core/finance/write-export.ts'
import { createLog } from '../../../core/log.ts'
import { usd } from '../../../core/money.ts'
import { ADMIN_TABS, FINANCE_TABS } from '../../../server/web/navigation.ts'
import { ask } from '../../support/ask.ts'
import type { TestAgent } from '../../support/hub.ts'
import type { Person } from '../../support/person.ts'
import { useHub } from '../../support/suite.ts'
import { createAdmin } from '../rest/finance/fixture.ts'
import { createException, createStaff, createVisitor, dataOf } from '../staff/fixture.ts'
import { adminTests } from './admin-tests.ts'
import { auditTests } from './audit-tests.ts'
import { flashMessageTests } from './flash-message-tests.ts'
import { type TabOptions, useTabs } from './tabs.ts'
import { waitingPayoutTests } from './waiting-payouts.ts'
import { walletTransferTests } from './wallet-transfer-tests.ts'

describe('pages of finance and administrators in a browser', function () {
  this.timeout(240_000) // starting the browser and axe take time
  const admin = createAdmin()
  const tabs = useTabs(() => hub().url)
  const hub = useHub({ config: { admins: [admin.wallet] } })
  let ann: Person
  let fay: Person
  let ada: TestAgent
  let call: string
  before(async () => {
    ann = await createStaff(hub(), admin, 'ann@house.example', 'admin')
    fay = await createStaff(hub(), admin, 'fay@house.example', 'finance')
    ada = await hub().agent()
    await hub().credit(ada.keyId, usd('5'))
    for (let i = 0; i < 3; i++) await ada.client.call('echo', '/say', { words: 'hi' })
    const history = await ask(hub().url, '/v1/credits/history', { key: ada.apiKey })
    call = String(dataOf(history)[0]!['id'])
    const { admin: owner } = hub().database
    for (const [fact, amount] of [
      ['a', 700],
      ['b', -400],
    ]) {
      await owner.query(
        `INSERT INTO hub.reconciliation_exception (wallet, kind, fact, amount, reason)
         VALUES ('treasury', 'balance_differs', $1, $2, 'Nobody knows.')`,
        [fact, amount],
      )
    }
  })

  /** Opens a tab of a signed-in person. */
  async function tab(who: Person, options: TabOptions = {}) {
    const { go: open, ...opened } = await tabs.open({ ...options, cookie: who.cookie })
    return { ...opened, open }
  }
  /** Clicks a link and returns the text of the next page. */
  async function follow({ page }: Pick<Tab, 'page'>, selector: string): Promise<string | null> {
    await Promise.all([page.waitForNavigation(), page.click(selector)])
    return page.$eval('main', (element) => element.textContent)
  }
  type Tab = Awaited<ReturnType<typeof tab>>

  const paths = (): readonly string[] => [
    ...new Set([FINANCE_TABS, ADMIN_TABS].flatMap((area) => Object.values(area.pages))),
    '/finance/payouts',
    '/finance/trial-balance?prefix=liabilities:agents:',
    '/finance/journal?event=gas.paid',
    `/finance/entries/${call}`,
    `/finance/accounts/liabilities:agents:${ada.keyId}:credits`,
    '/finance/exceptions?state=all',
    '/finance/audit?act=key.freeze',
    '/admin?only=pending',
    '/admin?slug=echo&edit=suspend',
    `/admin/keys?key=${ada.keyId}`,
    '/admin/find?q=house.example',
  ]

  for (const [name, scripts] of Object.entries({ with: true, without: false })) {
    describe(`${name} JavaScript`, () => {
      let fays: Tab
      let anns: Tab
      before(async () => {
        fays = await tab(fay, { scripts })
        anns = await tab(ann, { scripts })
      })
      after(() => Promise.all([fays.close(), anns.close()]))

      it('a large correction needs a proposal and a confirmation by someone else', async () => {
        await fays.open('/finance/adjustments')
        const order = { debit: 'expenses:free-tier', credit: 'equity:opening' }
        expect(await fays.page.$(`option[value="${order.debit}"]`), 'offered').not.to.equal(null)
        const wrong = await fays.send('adjust', {
          ...order,
          debit: 'nowhere',
          amount: '500',
          reason: 'x',
        })
        expect(wrong).to.include('No such account: nowhere')
        const page = await fays.send('adjust', { debit: order.debit, reason: `fix ${name}` })
        expect(page).to.include('a second person must confirm')
        expect(await fays.page.$('form:has([value=confirm])')).to.equal(null)
        await anns.open('/finance/adjustments')
        const done = await anns.send('confirm', { reason: 'seen' })
        expect(done).to.include('confirmed and posted')
        const entry = await follow(anns, 'table a[href^="/finance/entries/"]')
        expect(entry).to.include('balance.adjusted').and.to.include('500.000000')
        expect(entry).to.include(`${fay.email}, confirmed by ${ann.email}`)
        await anns.open('/finance/audit?act=entry.confirm')
        const line = await anns.page.$eval('main table', (element) => element.textContent)
        expect(line).to.include('amount: 500.000000 USDC')
      })

      const people = () => ({ fay, ann })
      waitingPayoutTests(name, { hub, tab: (who) => tab(who, { scripts }), people })

      it('an export is started, written and downloaded completely', async () => {
        await fays.open('/finance/exports')
        const page = await fays.send('start', { format: 'csv', reason: `year end ${name}` })
        expect(page).to.include('Export started').and.to.include('waiting')
        const { admin: owner } = hub().database
        await owner.query(
          `UPDATE hub.export SET state = 'writing', entries = 1 WHERE state = 'waiting'`,
        )
        if (!scripts) await follow(fays, 'main .actions a')
        await fays.page.waitForSelector('progress[value="1"]')
        await owner.query(
          `UPDATE hub.export SET state = 'waiting', entries = 0 WHERE state = 'writing'`,
        )
        await writeNextExport(
          { pool: hub().hub.pool, log: createLog('silent') },
          new AbortController().signal,
        )
        if (!scripts) await fays.open('/finance/exports')
        await fays.page.waitForSelector('a[download]')
        const file = await fays.page.$eval('a[download]', (link) => link.getAttribute('href')!)
        const answer = await fetchFile(fay, file)
        expect(answer.split('\r\n')[0]).to.match(
          /^shard,seq,booked_at_utc,value_at_utc,id,event,account,asset,debit,credit,author,/,
        )
        expect(answer).to.include('call.settled')
      })

      it('a commission is changed and its history names the author', async () => {
        await anns.open('/admin?slug=echo')
        const percent = scripts ? '7.5' : '6'
        const wrong = await anns.send('commission', { percent: '101', reason: 'x' })
        expect(wrong).to.include('Enter a percentage, such as 7.5')
        const page = await anns.send('commission', { percent, reason: `agreed ${name}` })
        expect(page).to.include('Commission set').and.to.include(`${percent} %`)
        expect(page).to.include(`agreed ${name}`).and.to.include(ann.email)
      })

      it('a service is suspended and resumed, a key frozen and unfrozen', async () => {
        await anns.open('/admin')
        await anns.choose('Echo', 'a[href*="edit=suspend"]')
        expect(await anns.dialog()).to.match(/Suspend service[^]*Stops 1 service\./)
        expect(await anns.send('suspend', { reason: 'a test' })).to.include('Suspended.')
        expect(await anns.send('resume', { reason: 'a test' })).to.include('Resumed.')
        await anns.open(`/admin/keys?key=${ada.keyId}`)
        expect(await anns.send('freeze', { reason: 'a leak' })).to.include('a leak')
        expect(await anns.send('thaw', { reason: 'no leak' })).to.include('works again')
      })

      it('an exception is resolved by a decision with a reason', async () => {
        await fays.open('/finance/exceptions')
        const decision = scripts ? 'surplus' : 'shortfall'
        const page = await fays.send('resolve', { decision, reason: 'looked into it' })
        expect(page).to.include('Exception resolved')
      })

      it('a role is granted and revoked', async () => {
        const email = `gus-${name}@house.example`
        await createVisitor(hub(), email)
        await anns.open('/admin/roles')
        const page = await anns.send('grant', { name: email, role: 'finance', reason: 'new' })
        expect(page).to.include('Role granted').and.to.include(email)
        const card = `form:has(button[aria-label*="${email}"])`
        await anns.page.click(`details:has(button[aria-label*="${email}"]) > summary`)
        await anns.page.type(`${card} [name=reason]`, 'left')
        await Promise.all([anns.page.waitForNavigation(), anns.page.click(`${card} button`)])
        const after = await anns.page.$eval('main', (element) => element.textContent)
        expect(after).to.include('Role revoked')
      })

      it('pages load nothing from elsewhere and log no errors', () => {
        const expected = /status of (?:422|409)/ // responses to rejected forms
        expect(
          [...fays.errors, ...anns.errors].filter((text) => !expected.test(text)),
        ).to.deep.equal([])
      })
    })
  }

  walletTransferTests(hub, tabs, () => fay)
  flashMessageTests(tabs, () => fay)
  auditTests(hub, tabs, () => fay)
  adminTests(hub, tabs, () => ann)

  it('the trial balance links to each account and its postings', async () => {
    const { page, open, close } = await tab(fay, { scripts: false })
    for (const day of ['', `?day=${systemClock.now().toISOString().slice(0, 10)}`]) {
      await open(`/finance/trial-balance${day}`)
      const totals = await page.$$eval('tfoot tr', (rows) =>
        rows.map((row) => [...row.children].map((cell) => cell.textContent)),
      )
      expect(totals).to.have.length.greaterThan(0)
      for (const [head, debits, credits] of totals) {
        expect(head).to.equal('Total')
        expect(debits)
          .to.match(/^[\d,]+/)
          .and.to.equal(credits)
      }
    }
    expect(await follow({ page }, 'td a[href*="prefix=liabilities%3Aagents%3A"]')).to.include(
      ada.keyId,
    )
    const statement = await follow(
      { page },
      `td a[href*="${encodeURIComponent(`:${ada.keyId}:credits`)}"]`,
    )
    expect(statement).to.include('credits.purchased')
    await close()
  })

  it('a posting links to its call and its account, and back', async () => {
    const { page, open, close } = await tab(fay)
    await open('/finance/journal?event=call.settled')
    const entry = await follow({ page }, 'td a[href^="/finance/entries/"]')
    expect(entry).to.include('POST /echo/say').and.to.include(ada.keyId)
    const account = encodeURIComponent(`:${ada.keyId}:credits`)
    const statement = await follow({ page }, `td a[href$="${account}"]`)
    expect(statement).to.include('Opening').and.to.include('call.reserved')
    expect(await follow({ page }, 'td a[href^="/finance/entries/"]')).to.include('Posted')
    await open(`/go?q=${call}`)
    expect(page.url()).to.include(`/finance/entries/${call}`)
    await close()
  })

  for (const [scripts, ago] of [
    [true, 2],
    [false, 1],
  ] as const) {
    const how = scripts ? 'with' : 'without'
    it(`a month that has ended is closed after a confirmation, ${how} JavaScript`, async () => {
      const { text, open, close, send: submit } = await tab(fay, { scripts })
      const now = systemClock.now()
      const month = monthName(monthStart(now, -ago))
      await createException(hub())
      await open('/finance/periods')
      expect(await text()).to.match(/\d open/)
      const order = { month, sure: 'on', reason: 'year end' }
      expect(await submit('close', order))
        .to.include(`The checklist of ${month} is not complete. Resolve each`)
        .and.include(`Checklist for ${month}`)
      expect(await submit('close', { override: 'on' })).to.include('Closing proposed')
      const closer = await tab(ann, { scripts })
      await closer.open('/finance/adjustments')
      expect(await closer.text()).to.include(`Close ${month} and all`)
      await closer.send('confirm', { reason: 'checked' })
      await closer.close()
      await open('/finance/periods')
      expect(await text()).to.include(`${fay.email}, confirmed by ${ann.email}`)
      await open(`/finance/trial-balance?day=${month}-28`)
      expect(await text()).to.include('Debits and credits are equal')
      await close()
    })
  }

  it('people without the role get an explanation, visitors the sign-in page', async () => {
    const eve = await createVisitor(hub(), 'eve@else.example')
    const stranger = await tab(eve)
    const readers = 'admin or finance or auditor'
    const roles = { '/finance': readers, '/admin': readers, '/admin/roles': 'admin' }
    for (const [path, names] of Object.entries(roles)) {
      const answer = await stranger.open(path)
      expect(answer!.status(), path).to.equal(403)
      expect(await stranger.text()).to.include(`the role ${names}. An administrator grants roles.`)
    }
    await stranger.close()
    const nobody = await tab({ ...eve, cookie: 'hub_session=none' })
    await nobody.open('/finance/journal')
    expect(nobody.page.url()).to.equal(`${hub().url}/sign-in`)
    await nobody.close()
  })

  it('are accessible, in light and dark, and fit a phone', async () => {
    const looking = await tabs.open({ cookie: ann.cookie })
    for (const path of paths()) await tabs.assertAccessible(looking, path)
    await looking.close()
  })

  async function fetchFile(who: Person, path: string): Promise<string> {
    const { statusCode, body } = await request(`${hub().url}${path}`, {
      headers: { cookie: who.cookie },
    })
    expect(statusCode).to.equal(200)
    return gunzipSync(Buffer.from(await body.arrayBuffer())).toString()
  }
})
