import { readdir, readFile } from 'node:fs/promises'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { expect } from 'chai'
import { type Process, ProcessGroup } from '../../../core/browser/watchdog.ts'
import { SECURE } from '../../core/catalog/fixture.ts'
import { AUTHORITY } from '../../core/egress/goodtls.ts'
import type { ApiResponse } from '../../support/ask.ts'
import { eventually } from '../../support/eventually.ts'
import { article, type Body, HOST, html, TEXT, type useOwner } from './fixture.ts'
import { HEAVY_BYTES } from './site.ts'

const PRICE = 3_000

/** Browser process id; 0 if none runs. */
async function browserPid(): Promise<number> {
  for (const name of await readdir('/proc')) {
    const stat = await readFile(`/proc/${name}/stat`, 'utf8').catch(() => '')
    const [, parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    if (Number(parent) !== process.pid) continue
    const command = await readFile(`/proc/${name}/cmdline`, 'utf8').catch(() => '')
    if (command.includes('--remote-debugging-pipe')) return Number(name)
  }
  return 0
}

/** Tests of failed deliveries, for a `describe` that provides hub and browser. */
export function failures(fixture: ReturnType<typeof useOwner>, slugOf: () => string): void {
  const read = (path: string) => fixture.read(slugOf(), `http://${HOST}${path}`)
  const credits = () => fixture.hub.balance(fixture.reader.keyId)
  const holds = () => fixture.hub.hub.ledger.balance('liabilities:holds')

  /** Journal entries of a call, in order. */
  async function journalOf({ body }: ApiResponse) {
    const { rows } = await fixture.hub.hub.pool.query<Body>(
      `SELECT k.event, j.amount, j.rest FROM ledger.journal j JOIN ledger.kind k ON k.id = j.kind
       WHERE j.id = $1 ORDER BY j.phase`,
      [body['call_id']],
    )
    return rows
  }

  /** Expects a complete refund that is stated in the response: nobody paid and nobody earned. */
  async function expectRefunded(
    response: ApiResponse,
    [status, code]: readonly [number, string],
    before: bigint,
    price = PRICE,
  ) {
    expect([response.status, response.body['code']], response.text).to.deep.equal([status, code])
    expect(response.body['refund']).to.include({ source: 'credits', amount_microdollars: price })
    expect(response.headers['x-charged-microdollars']).to.equal('0')
    expect(await journalOf(response)).to.deep.equal([
      { event: 'call.reserved', amount: BigInt(price), rest: 0n },
      { event: 'call.released', amount: 0n, rest: BigInt(price) },
    ])
    expect([await credits(), await holds()]).to.deep.equal([before, 0n])
  }

  const cases: Readonly<Record<string, readonly [status: number, code: string]>> = {
    '/gone': [404, 'page_not_found'],
    '/broken': [502, 'content_unavailable'],
    '/nowhere': [404, 'page_not_found'],
    '/image': [502, 'content_type_unsupported'],
    '/away': [502, 'content_redirected'],
    '/upgrade': [502, 'content_redirected'],
    '/sneak': [502, 'content_redirected'],
    '/round': [502, 'content_redirected'],
    '/sign-in': [502, 'content_unavailable'],
    '/soft-404': [404, 'page_not_found'],
    '/packed/bomb': [502, 'content_unreadable'],
  }
  /** Sentences about redirects, which name the target. */
  const redirects: Readonly<Record<string, string>> = {
    '/away': 'The page redirects to http://other.test/, on another host.',
    '/upgrade': `The page redirects to http://${HOST}/dear/report, which costs more.`,
    '/sneak': `The page redirects to http://${HOST}/members/letter, which the owner does not sell.`,
    '/round': 'The page redirects too often.',
  }
  for (const [path, fault] of Object.entries(cases)) {
    it(`${path}: ${fault[1]}`, async () => {
      const before = await credits()
      const response = await read(path)
      await expectRefunded(response, fault, before, 1_000)
      if (redirects[path]) expect(response.body['detail']).to.equal(redirects[path])
      if (path === '/broken') expect(response.body['upstream']).to.deep.equal({ status: 500 })
      const secret = `GET ${HOST}/members/letter`
      if (path === '/sneak') expect(fixture.sites.visits).not.to.include(secret)
    })
  }

  it('and the caller receives the site’s Retry-After', async () => {
    const before = await credits()
    const response = await Promise.all([read('/busy'), read('/app/busy')])
    expect(response.map(({ headers }) => headers['retry-after'])).to.deep.equal(['120', '90'])
    expect(response.map(({ body }) => body['upstream'])).to.deep.equal([
      { status: 503 },
      { status: 429 },
    ])
    expect([await credits(), await holds()]).to.deep.equal([before, 0n])
  })

  it('… while a redirect within the site at no higher price is followed', async () => {
    expect((await read('/inside')).body).to.include({ title: 'The frozen harbour' })
  })

  it('A098 its renderer process was killed, while the other page is delivered', async () => {
    const before = await credits()
    const dying = read('/app/heavy')
    let heavy: Process | undefined
    await eventually(async () => {
      const processes = await new ProcessGroup(await browserPid()).processes()
      heavy = processes.find(({ isPage, bytes }) => isPage && bytes > HEAVY_BYTES)
      return heavy !== undefined
    })
    const pid = await browserPid()
    expect(await holds(), 'held while it is at work').to.equal(BigInt(PRICE))
    const living = read('/app/page')
    process.kill(heavy!.pid, 'SIGKILL')
    expect((await living).body).to.include({ title: 'Written by a script', read_by: 'browser' })
    await expectRefunded(await dying, [502, 'render_failed'], before - BigInt(PRICE))
    expect(await browserPid(), 'the browser is the same').to.equal(pid)
  })

  it('A098 its browser was killed; the next page gets a new one', async () => {
    const before = await credits()
    const dying = read('/app/heavy')
    await eventually(async () => (await holds()) > 0n && (await browserPid()) > 0)
    const pid = await browserPid()
    process.kill(pid, 'SIGKILL')
    await expectRefunded(await dying, [502, 'render_failed'], before)
    expect((await read('/app/page')).status).to.equal(200)
    expect(await browserPid()).not.to.be.oneOf([0, pid])
  })

  it('A096 it exceeded the memory limit of a page', async () => {
    const before = await credits()
    await expectRefunded(await read('/app/fills'), [504, 'render_limit_exceeded'], before)
    expect((await read('/app/page')).status).to.equal(200)
  })

  describe('over TLS', () => {
    const trusted = getCACertificates('default')
    before(() => setDefaultCACertificates([...trusted, AUTHORITY]))
    after(() => setDefaultCACertificates(trusted))

    it('its host has a certificate that this process trusts and the browser does not', async () => {
      const rules: readonly Body[] = [
        { path: '/fast', price_microdollars: PRICE, fast: true },
        { path: '/app', price_microdollars: PRICE },
      ]
      const page = html(article('Over TLS', TEXT))
      const origin = `https://${SECURE}`
      const { slug } = await fixture.sell(rules, { '/fast': page, '/app': page }, origin)
      // This process trusts the authority that signed for the host.
      const response = await fixture.read(slug, `${origin}/fast`)
      expect(response.status, response.text).to.equal(200)
      expect(response.body).to.include({
        title: 'Over TLS',
        url: `${origin}/fast`,
        read_by: 'fast',
      })
      // The browser does not and checks for itself.
      const before = await credits()
      const refused = await fixture.read(slug, `${origin}/app`)
      await expectRefunded(refused, [502, 'upstream_tls'], before)
      expect(fixture.sites.visits).not.to.include(`GET ${SECURE}/app`)
    })
  })
}
