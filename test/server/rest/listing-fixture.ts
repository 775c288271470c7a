import { expect } from 'chai'
import nock from 'nock'
import { openTestSites, paths, sells, type TestSites } from '../../core/catalog/fixture.ts'
import { ask } from '../../support/ask.ts'
import { startTestHub, type TestAgent, type TestHub } from '../../support/hub.ts'

export type Body = Readonly<Record<string, unknown>>

/** Starts a hub and third-party sites for all tests of a `describe`, without jobs. */
export function useListings() {
  let hub: TestHub
  let sites: TestSites
  let ada: TestAgent
  before(async () => {
    nock.restore()
    sites = await openTestSites()
    hub = await startTestHub({ config: { sandboxHosts: sites.sandboxHosts } })
    ada = await hub.agent()
  })
  after(async () => {
    sites.close()
    await hub.close()
    nock.activate()
  })
  beforeEach(() => sites.clear())

  const post = (path: string, body: Body = {}, agent = ada) =>
    ask(hub.url, path, { key: agent.apiKey, body })
  const get = (path: string) => ask(hub.url, path)
  const list = async (path = '/rain', change: object = {}): Promise<Body> => {
    sites.at('shop.test', paths({ [path]: sells(change) }))
    const { status, body } = await post('/v1/listings', { url: `http://shop.test${path}` })
    expect(status, JSON.stringify(body)).to.equal(201)
    return (body['listed'] as Body[])[0]!
  }
  const later = (minutes: number) =>
    hub.database.admin.query(
      `UPDATE hub.listing SET probed_at = probed_at - make_interval(mins => $1)`,
      [minutes],
    )
  const rescan = async (id: unknown) => {
    await later(2)
    return post(`/v1/listings/${String(id)}/rescan`)
  }
  return {
    post,
    get,
    list,
    later,
    rescan,
    get hub() {
      return hub
    },
    get sites() {
      return sites
    },
    get ada() {
      return ada
    },
  }
}
