import { expect } from 'chai'
import nock from 'nock'
import { openSource, stopPass } from '../../../core/catalog/listings/discovery/sources.ts'
import { RANK } from '../../../core/catalog/listings/store.ts'
import { submitTarget } from '../../../core/catalog/listings/submit.ts'
import { listingsCommand } from '../../../server/commands/listings/index.ts'
import {
  type CatalogFixture,
  openCatalogFixture,
  paths,
  sells,
} from '../../core/catalog/fixture.ts'

describe('npm run listings', () => {
  let world: CatalogFixture
  before(async () => {
    nock.restore()
    world = await openCatalogFixture()
    world.at('shop.test', paths({ '/rain': sells() }))
    for (const path of ['rain', 'gone']) {
      const target = { url: `http://shop.test/${path}`, method: undefined, description: {} }
      await submitTarget(world, target, { source: 'submitted', rank: RANK.document })
    }
    await openSource(world.pool, 'cdp')
  })
  after(async () => {
    await world.close()
    nock.activate()
  })

  const run = async (...args: string[]) => {
    let text = ''
    const code = await listingsCommand(
      async () => world.pool,
      args,
      (more) => (text += more),
    )
    return { code, text }
  }
  const due = async (table: string, column: string) => {
    const { rowCount } = await world.pool.query(`SELECT FROM ${table} WHERE ${column} <= now()`)
    return rowCount
  }

  it('shows listings by state and why rows were refused', async () => {
    const { code, text } = await run('status')
    expect(code).to.equal(0)
    expect(text)
      .to.match(/ 1 {2}active\n/)
      .and.match(/ 1 {2}submitted: not_found\n/)
    expect(JSON.parse((await run('status', '--json')).text)).to.include({ due: 0, probedToday: 1 })
  })

  it('fails if a source cannot be read, and says why', async () => {
    await stopPass(world.pool, 'cdp', 'It answered 500.')
    const { code, text } = await run('status')
    expect(code).to.equal(1)
    expect(text).to.contain('It answered 500.')
  })

  it('schedules the sources and listings that discover and probe name', async () => {
    expect(await due('hub.discovery', 'next_at')).to.equal(0)
    expect(await run('discover', 'cdp')).to.deep.equal({ code: 0, text: 'cdp\n' })
    expect(await due('hub.discovery', 'next_at')).to.equal(1)
    expect((await run('discover', 'nobody')).code).to.equal(1)
    expect((await run('probe', '--host', 'other.test')).text).to.equal('0 listings are due.\n')
    expect((await run('probe')).text).to.equal('1 listings are due.\n')
    expect(await due('hub.listing', 'next_probe_at')).to.equal(1)
  })

  it('rejects unknown commands', async () => {
    expect((await run('guess')).code).to.equal(2)
    expect((await run()).code).to.equal(2)
  })
})
