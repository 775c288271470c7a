import { expect } from 'chai'
import nock from 'nock'
import { ask } from '../support/ask.ts'
import { eventually } from '../support/eventually.ts'
import { startTestHub, type TestAgent, type TestHub } from '../support/hub.ts'
import { type ReplicatedDatabase, startReplicatedDatabase } from '../support/replicated-database.ts'

const MAX_AGE_MS = 5_000

describe('a hub with a replica', () => {
  let servers: ReplicatedDatabase
  let hub: TestHub
  let agent: TestAgent

  before(async () => {
    nock.restore()
    servers = await startReplicatedDatabase()
    const { database } = servers
    const { host } = new URL(servers.replicaUrl)
    const replica = { url: `postgres://${host}`, maxAgeMs: MAX_AGE_MS }
    hub = await startTestHub({ database, config: { replica } })
    agent = await hub.agent()
    await hub.credit(agent.keyId, 1_000_000n)
  })
  after(async () => {
    await hub?.close()
    await servers?.remove()
    nock.activate()
  })

  const asOfOf = async (path: string): Promise<number> => {
    const { status, headers, text } = await ask(hub.url, path, { key: agent.apiKey })
    expect(status, text).to.equal(200)
    return Date.parse(String(headers['x-data-as-of']))
  }
  const PATHS = [
    '/v1/services',
    '/v1/services/echo',
    '/v1/external',
    '/v1/provider/statistics',
    '/v1/provider/customers',
  ]

  it('states as of when the data of public and statistical answers is', async () => {
    for (const path of PATHS) {
      await eventually(async () => (await asOfOf(path)) > 0, 10_000)
      expect(Date.now() - (await asOfOf(path)), path).to.be.below(MAX_AGE_MS + 1_000)
    }
  })

  it('states it on pages', async () => {
    for (const path of ['/status', '/services/echo']) {
      const { text } = await ask(hub.url, path, { headers: { Accept: 'text/html' } })
      expect(text, path).to.match(/Data as of \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC\./)
    }
  })

  it('decides about money on the primary, and shows people what they have just done', async () => {
    await servers.onReplica('SELECT pg_wal_replay_pause()')
    try {
      const paid = await ask(hub.url, '/proxy/echo/say', {
        key: agent.apiKey,
        body: { words: 'hello' },
      })
      expect(paid.status, paid.text).to.equal(200)
      const charged = Number(paid.headers['x-charged-microdollars'])
      const balance = await hub.balance(agent.keyId)
      expect(balance).to.equal(1_000_000n - BigInt(charged))
      const call = await ask(hub.url, `/v1/calls/${String(paid.headers['x-call-id'])}`, {
        key: agent.apiKey,
      })
      expect(call.headers).not.to.have.property('x-data-as-of')
      expect(call.status, call.text).to.equal(200)
      const shown = await ask(hub.url, '/v1/credits/balance', { key: agent.apiKey })
      expect(shown.headers).not.to.have.property('x-data-as-of')
      expect(shown.body).to.include({ balance_microdollars: Number(balance) })
    } finally {
      await servers.onReplica('SELECT pg_wal_replay_resume()')
    }
  })

  it('serves the same answers without the replica, and then states no instant', async () => {
    await servers.replica.kill()
    for (const path of PATHS) expect(await asOfOf(path), path).to.satisfy(Number.isNaN)
    const { text } = await ask(hub.url, '/status', { headers: { Accept: 'text/html' } })
    expect(text).not.to.include('Data as of')
  })
})
