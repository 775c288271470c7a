import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { gunzipSync } from 'node:zlib'
import { expect } from 'chai'
import type { Browser } from 'puppeteer-core'
import { request } from 'undici'
import { systemClock } from '../../../core/clock.ts'
import { writeNextExport } from '../../../core/finance/write-export.ts'
import { createLog } from '../../../core/log.ts'
import { usd } from '../../../core/money.ts'
import { ask } from '../../support/ask.ts'
import type { TestAgent } from '../../support/hub.ts'
import { openBrowser } from '../../support/own-browser.ts'
import type { Person } from '../../support/person.ts'
import { useHub } from '../../support/suite.ts'
import { makeAdmin } from '../finance-world.ts'
import { colleague, data, type Json, visitor } from '../staff/world.ts'
import { send } from './acts.ts'

const AXE = fileURLToPath(import.meta.resolve('axe-core/axe.min.js'))

interface Violation {
  readonly id: string
  readonly nodes: readonly { readonly html: string }[]
}

describe('the pages of finance and administrators, in a browser', function () {
  this.timeout(120_000)
  const admin = makeAdmin()
  let browser: Browser
  let axe: string
  before(async () => {
    axe = await readFile(AXE, 'utf8')
    browser = await openBrowser()
  })
  after(() => browser.close())
  const hub = useHub({ config: { admins: [admin.wallet], jobs: false } })
  let ann: Person
  let fay: Person
  let ada: TestAgent
  let call: string
  before(async () => {
    ann = await colleague(hub(), admin, 'ann@house.example', 'admin')
    fay = await colleague(hub(), admin, 'fay@house.example', 'finance')
    ada = await hub().agent()
    await hub().credit(ada.keyId, usd('5'))
    for (let i = 0; i < 3; i++) await ada.client.call('echo', '/say', { words: 'hi' })
    const history = await ask(hub().url, '/v1/credits/history', { key: ada.apiKey })
    call = String(data(history)[0]!['id'])
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

  /** A tab of somebody who is signed in. */
  async function tab(who: Person, { scripts = true, width = 1_200 } = {}) {
    const context = await browser.createBrowserContext()
    const page = await context.newPage()
    const wrong: string[] = []
    await page.setViewport({ width, height: 800 })
    await page.setJavaScriptEnabled(scripts)
    const [name = '', value = ''] = who.cookie.split('=')
    await context.setCookie({ name, value, domain: '127.0.0.1', path: '/' })
    page.on('console', (message) => {
      if (message.type() === 'error') wrong.push(message.text())
    })
    page.on('pageerror', (error) => wrong.push(String(error)))
    page.on('request', (request) => {
      const url = request.url()
      if (!url.startsWith(hub().url) && !url.startsWith('data:')) wrong.push(`asked ${url}`)
    })
    const open = (path: string) => page.goto(`${hub().url}${path}`)
    return { page, wrong, open, close: () => context.close() }
  }
  type Tab = Awaited<ReturnType<typeof tab>>

  const paths = (): readonly string[] => [
    '/finance',
    '/finance/trial-balance',
    '/finance/journal',
    '/finance/journal?event=gas.paid',
    `/finance/entries/${call}`,
    `/finance/accounts/liabilities:agents:${ada.keyId}:credits`,
    '/finance/adjustments',
    '/finance/exceptions',
    '/finance/exceptions?state=all',
    '/finance/payments',
    '/finance/periods',
    '/finance/exports',
    '/finance/audit',
    '/finance/audit?act=key.freeze',
    '/admin',
    '/admin?only=pending',
    '/admin?slug=echo',
    '/admin/keys',
    `/admin/keys?key=${ada.keyId}`,
    '/admin/roles',
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

      it('a large correction is proposed by one, and confirmed by another one', async () => {
        await fays.open('/finance/adjustments')
        const order = { debit: 'expenses:free-tier', credit: 'equity:opening' }
        const wrong = await send(fays.page, 'adjust', {
          ...order,
          debit: 'nowhere',
          amount: '500',
          reason: 'x',
        })
        expect(wrong).to.include('No such account: nowhere')
        const said = await send(fays.page, 'adjust', { debit: order.debit, reason: `fix ${name}` })
        expect(said).to.include('needs a second person')
        expect(await fays.page.$('form:has([value=confirm])')).to.equal(null)
        await anns.open('/finance/adjustments')
        const done = await send(anns.page, 'confirm', { reason: 'seen' })
        expect(done).to.include('confirmed and booked')
        const posted = await anns.page.$eval('table a[href^="/finance/entries/"]', (link) =>
          String(link.getAttribute('href')),
        )
        await anns.open(posted)
        const entry = await anns.page.$eval('main', (element) => element.textContent)
        expect(entry).to.include('balance.adjusted').and.to.include('500.000000')
        expect(entry).to.include(`${fay.email}, confirmed by ${ann.email}`)
      })

      it('an export is started, written, and downloaded whole', async () => {
        await fays.open('/finance/exports')
        const said = await send(fays.page, 'start', { format: 'csv', reason: `year end ${name}` })
        expect(said).to.include('on its way').and.to.include('waiting')
        await writeNextExport(
          { pool: hub().hub.pool, log: createLog('silent') },
          new AbortController().signal,
        )
        await fays.open('/finance/exports')
        const file = await fays.page.$eval('a[download]', (link) => link.getAttribute('href')!)
        const answer = await fetchFile(fay, file)
        expect(answer.split('\r\n')[0]).to.equal(
          'shard,seq,booked_at_utc,value_at_utc,id,event,account,asset,debit,credit',
        )
        expect(answer).to.include('call.settled')
      })

      it('the commission of a service is changed, and the history says who did it', async () => {
        await anns.open('/admin?slug=echo')
        const percent = scripts ? '7.5' : '6'
        const wrong = await send(anns.page, 'commission', { percent: '101', reason: 'x' })
        expect(wrong).to.include('Per cent, such as 7.5')
        const said = await send(anns.page, 'commission', { percent, reason: `agreed ${name}` })
        expect(said).to.include('The commission is set').and.to.include(`${percent} %`)
        expect(said).to.include(`agreed ${name}`).and.to.include(ann.email)
      })

      it('a service is stopped and goes on; a key is frozen and thawed', async () => {
        await anns.open('/admin?slug=echo')
        expect(await send(anns.page, 'suspend', { reason: 'a test' })).to.include('It is stopped')
        expect(await send(anns.page, 'resume', { reason: 'a test' })).to.include('It goes on')
        await anns.open(`/admin/keys?key=${ada.keyId}`)
        expect(await send(anns.page, 'freeze', { reason: 'a leak' })).to.include('a leak')
        expect(await send(anns.page, 'thaw', { reason: 'no leak' })).to.include('works again')
      })

      it('an exception is resolved by a decision with a reason', async () => {
        await fays.open('/finance/exceptions')
        const decision = scripts ? 'surplus' : 'shortfall'
        const said = await send(fays.page, 'resolve', { decision, reason: 'looked into it' })
        expect(said).to.include('The exception is resolved')
      })

      it('somebody gets a role, and loses it', async () => {
        const email = `gus-${name}@house.example`
        await visitor(hub(), email)
        await anns.open('/admin/roles')
        const said = await send(anns.page, 'grant', { name: email, role: 'finance', reason: 'new' })
        expect(said).to.include('The role is given').and.to.include(email)
        const card = `form:has(button[aria-label*="${email}"])`
        await anns.page.click(`details:has(button[aria-label*="${email}"]) > summary`)
        await anns.page.type(`${card} [name=reason]`, 'left')
        await Promise.all([anns.page.waitForNavigation(), anns.page.click(`${card} button`)])
        const after = await anns.page.$eval('main', (element) => element.textContent)
        expect(after).to.include('The role is taken away')
      })

      it('nothing was asked of anybody else, and nothing complained of', () => {
        const expected = /status of (?:422|409)/ // of forms that did not pass
        expect([...fays.wrong, ...anns.wrong].filter((text) => !expected.test(text))).to.deep.equal(
          [],
        )
      })
    })
  }

  it('from a posting one comes to its call, to its account, and back', async () => {
    const { page, open, close } = await tab(fay)
    await open('/finance/journal?event=call.settled')
    const follow = async (selector: string) => {
      await Promise.all([page.waitForNavigation(), page.click(selector)])
      return page.$eval('main', (element) => element.textContent)
    }
    const entry = await follow('td a[href^="/finance/entries/"]')
    expect(entry).to.include('POST /echo/say').and.to.include(ada.keyId)
    const statement = await follow(`td a[href$="${encodeURIComponent(`:${ada.keyId}:credits`)}"]`)
    expect(statement).to.include('Opening').and.to.include('call.reserved')
    expect(await follow('td a[href^="/finance/entries/"]')).to.include('Booked')
    await close()
  })

  it('a month is closed once it is over, by somebody who is sure; without JavaScript', async () => {
    const { page, open, close } = await tab(fay, { scripts: false })
    const date = systemClock.now()
    const now = date.toISOString().slice(0, 7)
    date.setUTCDate(0)
    const month = date.toISOString().slice(0, 7)
    await open('/finance/periods')
    const early = await send(page, 'close', { month: now, sure: 'on', reason: 'year end' })
    expect(early).to.include('is not over yet')
    const said = await send(page, 'close', { month })
    expect(said).to.include('The month is closed').and.to.include(fay.email)
    const lines = data(await fay.ask('/v1/admin/audit?act=period'))
    expect(lines).to.have.length(1)
    expect(lines[0]).to.deep.include({ subject: month, after: { closed: [month] } as Json })
    await close()
  })

  it('who has no role is told so, and who is not signed in may sign in', async () => {
    const eve = await visitor(hub(), 'eve@else.example')
    const stranger = await tab(eve)
    for (const path of ['/finance', '/admin/roles']) {
      const answer = await stranger.open(path)
      expect(answer!.status(), path).to.equal(403)
    }
    await stranger.close()
    const nobody = await tab({ ...eve, cookie: 'hub_session=none' })
    await nobody.open('/finance/journal')
    expect(nobody.page.url()).to.equal(`${hub().url}/sign-in`)
    await nobody.close()
  })

  it('are without fault for assistive software, light and dark', async () => {
    const { page, wrong, open, close } = await tab(ann)
    await page.setBypassCSP(true) // for axe alone
    const SCHEMES = { light: '', dark: `{ runOnly: ['color-contrast'] }` }
    for (const path of paths()) {
      const answer = await open(path)
      expect(answer!.status(), path).to.equal(200)
      await page.evaluate(axe)
      for (const [value, rules] of Object.entries(SCHEMES)) {
        await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value }])
        const found = (await page.evaluate(`axe.run(${rules})`)) as { violations: Violation[] }
        const faults = found.violations.flatMap(({ id, nodes }) =>
          nodes.map((node) => `${id}: ${node.html}`),
        )
        expect(faults, `${path}, ${value}`).to.deep.equal([])
      }
      expect(wrong, path).to.deep.equal([])
    }
    await close()
  })

  it('fit a phone: nothing has to be scrolled sideways', async () => {
    const { page, open, close } = await tab(ann, { width: 360 })
    for (const path of paths()) {
      await open(path)
      const over = await page.evaluate('document.documentElement.scrollWidth - innerWidth')
      expect(over, path).to.be.at.most(0)
    }
    await close()
  })

  async function fetchFile(who: Person, path: string): Promise<string> {
    const { statusCode, body } = await request(`${hub().url}${path}`, {
      headers: { cookie: who.cookie },
    })
    expect(statusCode).to.equal(200)
    return gunzipSync(Buffer.from(await body.arrayBuffer())).toString()
  }
})
