import { expect } from 'chai'
import nock from 'nock'
import { normalizeRow } from '../../../../core/catalog/listings/discovery/normalize.ts'
import { probeDue } from '../../../../core/catalog/listings/probe/probe-due.ts'
import { Robots } from '../../../../core/catalog/listings/probe/robots.ts'
import { RANK, upsertListings } from '../../../../core/catalog/listings/store.ts'
import { openWorld, paths, type Site, sells, type World } from '../fixture.ts'
import { row } from '../rows.ts'

const MINUTE = 60_000
const RAIN = 'http://shop.test/rain'
const AWAY = 'User-agent: AgentHub\nDisallow: /rain'

describe('the robots.txt of a host', () => {
  let world: World
  let robots: Robots
  let now = 0
  before(async () => {
    nock.restore()
    world = await openWorld()
  })
  after(async () => {
    await world.close()
    nock.activate()
  })
  beforeEach(() => {
    world.clear()
    robots = new Robots(world.egress, { now: () => new Date(now) })
  })
  const answers = (site: Site): void =>
    world.at('shop.test', paths({ '/robots.txt': site, '/rain': sells() }))
  const status =
    (code: number): Site =>
    (_, response) =>
      response.writeHead(code).end(AWAY)
  const asked = () => world.visits.filter((visit) => visit.endsWith('/robots.txt')).length

  it('allows everything where there is none (4xx), and nothing where it fails (5xx)', async () => {
    for (const [code, refusal] of [
      [404, undefined],
      [402, undefined],
      [429, undefined],
      [500, 'robots_unreadable'],
      [503, 'robots_unreadable'],
    ] as const) {
      answers(status(code))
      robots = new Robots(world.egress, { now: () => new Date(now) })
      expect(await robots.refusal(RAIN), String(code)).to.equal(refusal)
      expect(await robots.allows(RAIN)).to.equal(refusal === undefined)
    }
  })

  it('allows nothing where there is no answer, or half of one', async () => {
    answers((_, response) => response.destroy())
    expect(await robots.refusal(RAIN)).to.equal('unreachable')
    now += 11 * MINUTE
    answers((_, response) => {
      response.writeHead(200, { 'content-length': '100' }).write('User-agent: *')
      setTimeout(() => response.destroy(), 20)
    })
    expect(await robots.refusal(RAIN)).to.equal('unreachable')
  })

  it('that fails is asked for again after ten minutes, and one that told after a day', async () => {
    answers(status(500))
    await robots.allows(RAIN)
    now += 9 * MINUTE
    expect([await robots.allows(RAIN), asked()]).to.deep.equal([false, 1])
    now += 2 * MINUTE
    answers(status(404))
    expect([await robots.allows(RAIN), asked()]).to.deep.equal([true, 2])
    now += 23 * 60 * MINUTE
    answers(status(200))
    expect([await robots.allows(RAIN), asked()]).to.deep.equal([true, 2])
    now += 2 * 60 * MINUTE
    expect([await robots.refusal(RAIN), asked()]).to.deep.equal(['robots', 3])
  })

  it('that told once counts while it fails', async () => {
    answers(status(200))
    expect(await robots.refusal(RAIN)).to.equal('robots')
    now += 25 * 60 * MINUTE
    answers(status(503))
    expect(await robots.refusal(RAIN)).to.equal('robots')
    expect(await robots.allows('http://shop.test/other')).to.equal(true)
  })

  it('is looked for where it leads, five times at most, and is as long as it likes', async () => {
    const to =
      (location: string): Site =>
      (_, response) =>
        response.writeHead(301, { location }).end()
    answers(to('http://other.test/rules'))
    world.at('other.test', paths({ '/rules': status(200) }))
    expect(await robots.refusal(RAIN)).to.equal('robots')
    now += 25 * 60 * MINUTE
    answers(to('/robots.txt'))
    expect(await robots.refusal(RAIN), 'in a circle: as if there were none').to.equal(undefined)
    now += 25 * 60 * MINUTE
    answers((_, response) => response.end(`${AWAY}\n${'#'.repeat(600_000)}`))
    expect(await robots.refusal(RAIN)).to.equal('robots')
    now += 25 * 60 * MINUTE
    answers((_, response) => response.writeHead(404).end('#'.repeat(600_000)))
    expect(await robots.refusal(RAIN), 'a long page of nothing').to.equal(undefined)
    answers(to('http://127.0.0.1/robots.txt'))
    robots = new Robots(world.egress, { now: () => new Date(now) })
    expect(await robots.refusal(RAIN), 'where the hub does not go').to.equal('robots_unreadable')
  })

  it('that fails keeps the probe away, and says so of the listing', async () => {
    answers(status(500))
    const judged = normalizeRow(row({ resource: RAIN }), world.rules)
    if ('reason' in judged) throw new Error(judged.reason)
    await upsertListings(world.pool, RANK.index, [judged.candidate])
    await world.pool.query('UPDATE hub.listing SET next_probe_at = now()')
    await probeDue({ ...world, robots, pace: { gapMs: 0 } })
    const { rows } = await world.pool.query(
      'SELECT state, reason, uptime, next_probe_at < now() + $1::interval AS soon FROM hub.listing',
      ['10 minutes'],
    )
    expect(rows).to.deep.equal([
      { state: 'unlisted', reason: 'robots_unreadable', uptime: null, soon: true },
    ])
    expect(world.visits).to.deep.equal(['GET shop.test/robots.txt'])
  })
})
