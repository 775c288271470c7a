import { expect } from 'chai'
import nock from 'nock'
import { eventually } from '../../support/eventually.ts'
import { holdSocket } from '../../support/held-socket.ts'
import { type FreshDatabase, freshDatabase } from '../../support/postgres.ts'
import { ServingProcess } from '../../support/serving-process.ts'
import { askLiveness, SteadyLoad } from '../../support/steady-load.ts'

describe('a hub that takes over from another one on the same machine', function () {
  this.timeout(180_000)
  let database: FreshDatabase
  const hubs: ServingProcess[] = []
  before(() => nock.restore())
  after(() => nock.activate())
  beforeEach(async () => {
    database = await freshDatabase()
  })
  afterEach(async () => {
    await Promise.all(hubs.splice(0).map((hub) => hub.remove()))
    await database.drop()
  })

  const create = async (options: Parameters<typeof ServingProcess.create>[0]) => {
    const env = { DATABASE_URL: database.url, ...options.env }
    const hub = await ServingProcess.create({ ...options, env })
    hubs.push(hub)
    return hub
  }

  it('by a socket of the supervisor loses no request, even if it starts later', async () => {
    const { fd, port, close } = holdSocket()
    const options = { port: 1, fd, env: { HUB_WORKERS: '2' } } // HUB_PORT does not count
    const [old, next] = [await create(options), await create(options)]
    await old.start()
    const load = new SteadyLoad(port)
    await eventually(() => load.count(200) > 100)
    expect(await old.end('SIGTERM')).to.deep.equal([0, null])
    await next.start()
    const before = load.count(200)
    await eventually(() => load.count(200) > before + 100)
    await load.stop()
    expect(load.failures).to.deep.equal({})
    await next.end('SIGKILL')
    const waiting = askLiveness(port)
    await old.start()
    expect(await waiting, 'asked while no hub was running').to.equal(200)
    await old.end('SIGTERM')
    close()
  })
})
