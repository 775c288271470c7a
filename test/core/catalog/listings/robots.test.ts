import { expect } from 'chai'
import { normalizeRow } from '../../../../core/catalog/listings/discovery/normalize.ts'
import { probeDue } from '../../../../core/catalog/listings/probe/probe-due.ts'
import { Robots } from '../../../../core/catalog/listings/probe/robots.ts'
import { RANK, upsertListings } from '../../../../core/catalog/listings/store.ts'
import { paths, type SiteHandler, sells, useCatalog } from '../fixture.ts'
import { row } from '../rows.ts'

const MINUTE = 60_000
const RAIN = 'http://shop.test/rain'
const AWAY = 'User-agent: AgentHub\nDisallow: /rain'

describe('the robots.txt of a host', () => {
  const fixture = useCatalog()
  let robots: Robots
  let now = 0
  beforeEach(() => {
    robots = new Robots(fixture.egress, { now: () => new Date(now) })
  })
  const answers = (site: SiteHandler): void =>
    fixture.at('shop.test', paths({ '/robots.txt': site, '/rain': sells() }))
  const status =
    (code: number): SiteHandler =>
    (_, response) =>
      response.writeHead(code).end(AWAY)
  const countRequests = () => fixture.visits.filter((visit) => visit.endsWith('/robots.txt')).length

  it('allows everything if it is missing (4xx), and nothing if it fails (5xx)', async () => {
    for (const [code, refusal] of [
      [404, undefined],
      [402, undefined],
      [429, undefined],
      [500, 'robots_unreadable'],
      [503, 'robots_unreadable'],
    ] as const) {
      answers(status(code))
      robots = new Robots(fixture.egress, { now: () => new Date(now) })
      expect(await robots.refusal(RAIN), String(code)).to.equal(refusal)
      expect(await robots.allows(RAIN)).to.equal(refusal === undefined)
    }
  })

  it('allows nothing without a complete response', async () => {
    answers((_, response) => response.destroy())
    expect(await robots.refusal(RAIN)).to.equal('unreachable')
    now += 11 * MINUTE
    answers((_, response) => {
      response.writeHead(200, { 'content-length': '100' }).write('User-agent: *')
      setTimeout(() => response.destroy(), 20)
    })
    expect(await robots.refusal(RAIN)).to.equal('unreachable')
  })

  it('is fetched again after ten minutes if it failed, otherwise after a day', async () => {
    answers(status(500))
    await robots.allows(RAIN)
    now += 9 * MINUTE
    expect([await robots.allows(RAIN), countRequests()]).to.deep.equal([false, 1])
    now += 2 * MINUTE
    answers(status(404))
    expect([await robots.allows(RAIN), countRequests()]).to.deep.equal([true, 2])
    now += 23 * 60 * MINUTE
    answers(status(200))
    expect([await robots.allows(RAIN), countRequests()]).to.deep.equal([true, 2])
    now += 2 * 60 * MINUTE
    expect([await robots.refusal(RAIN), countRequests()]).to.deep.equal(['robots', 3])
  })

  it('keeps applying its last known rules while it fails', async () => {
    answers(status(200))
    expect(await robots.refusal(RAIN)).to.equal('robots')
    now += 25 * 60 * MINUTE
    answers(status(503))
    expect(await robots.refusal(RAIN)).to.equal('robots')
    expect(await robots.allows('http://shop.test/other')).to.equal(true)
  })

  it('is read after up to five redirects, and whatever its length', async () => {
    const to =
      (location: string): SiteHandler =>
      (_, response) =>
        response.writeHead(301, { location }).end()
    answers(to('http://other.test/rules'))
    fixture.at('other.test', paths({ '/rules': status(200) }))
    expect(await robots.refusal(RAIN)).to.equal('robots')
    now += 25 * 60 * MINUTE
    answers(to('/robots.txt'))
    expect(await robots.refusal(RAIN), 'a redirect loop counts as missing').to.equal(undefined)
    now += 25 * 60 * MINUTE
    answers((_, response) => response.end(`${AWAY}\n${'#'.repeat(600_000)}`))
    expect(await robots.refusal(RAIN)).to.equal('robots')
    now += 25 * 60 * MINUTE
    answers((_, response) => response.writeHead(404).end('#'.repeat(600_000)))
    expect(await robots.refusal(RAIN), 'a long 404 page').to.equal(undefined)
    answers(to('http://127.0.0.1/robots.txt'))
    robots = new Robots(fixture.egress, { now: () => new Date(now) })
    expect(await robots.refusal(RAIN), 'a forbidden destination').to.equal('robots_unreadable')
  })

  it('prevents probes while it fails, and shows so on the listing', async () => {
    answers(status(500))
    const result = normalizeRow(row({ resource: RAIN }), fixture.rules)
    if ('reason' in result) throw new Error(result.reason)
    await upsertListings(fixture.pool, RANK.index, [result.candidate])
    await fixture.pool.query('UPDATE hub.listing SET next_probe_at = now()')
    await probeDue({ ...fixture, robots, pace: { gapMs: 0 } })
    const { rows } = await fixture.pool.query(
      'SELECT state, reason, uptime, next_probe_at < now() + $1::interval AS soon FROM hub.listing',
      ['10 minutes'],
    )
    expect(rows).to.deep.equal([
      { state: 'unlisted', reason: 'robots_unreadable', uptime: null, soon: true },
    ])
    expect(fixture.visits).to.deep.equal(['GET shop.test/robots.txt'])
  })
})
