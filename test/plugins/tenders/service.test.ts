import { expect } from 'chai'
import { HubError } from '../../../core/client/index.ts'
import { usd } from '../../../core/money.ts'
import type { TestAgent } from '../../support/hub.ts'
import { useHub } from '../../support/suite.ts'

interface Answer {
  readonly data: { publication_number: string; status: string; next_deadline: string | null }[]
  readonly pagination: Record<string, number | null>
  readonly snapshot_as_of: string
  readonly sample?: boolean
}

describe('tenders: the service in a sandbox', () => {
  const hub = useHub()
  let agent: TestAgent
  before(async () => {
    agent = await hub().agent()
    await hub().credit(agent.keyId, usd('20'))
  })

  const ask = async (path: string, query: Record<string, unknown> = {}) => {
    const answer = await agent.client.call('tenders', `/v1/${path}`, query, { method: 'GET' })
    return { ...answer, body: answer.body as unknown as Answer }
  }
  const refusal = async (path: string, query: Record<string, unknown>) => {
    const before = await hub().balance(agent.keyId)
    const error = await ask(path, query).catch((thrown: unknown) => thrown)
    expect(await hub().balance(agent.keyId)).to.equal(before)
    if (error instanceof HubError) return error
    throw new Error(`${JSON.stringify(query)} was answered`)
  }

  it('sells at its listed prices, with its envelopes', async () => {
    const prices = { changes: 50_000n, 'daily-action-brief': 50_000n, feed: 10_000n }
    for (const [path, price] of Object.entries(prices)) {
      const { charged, body } = await ask(path)
      expect(charged, path).to.equal(price)
      expect(body.snapshot_as_of).to.match(/Z$/)
      expect(body).to.have.property('attribution').that.includes('European Union')
      if (path !== 'daily-action-brief') {
        expect(body.pagination).to.include({ limit: 25, offset: 0 })
        expect(body.pagination['returned']).to.equal(body.data.length)
      }
    }
  })

  it('marks samples as samples and serves them as of their own day', async () => {
    const { body } = await ask('feed')
    expect(body.sample).to.equal(true)
    expect(body.data.map(({ status }) => status)).to.include.members(['open', 'planned'])
    const changed = await ask('changes')
    const events = changed.body.data as unknown as { event: string }[]
    expect(events.map(({ event }) => event)).to.have.members(['deadline_extended', 'cancelled'])
  })

  it('filters, paginates, and returns an empty page past the end', async () => {
    const all = (await ask('feed', { limit: 100 })).body
    const pages = await Promise.all(
      all.data.map(async (_, offset) => (await ask('feed', { limit: 1, offset })).body.data[0]),
    )
    expect(pages).to.deep.equal(all.data)
    const past = (await ask('feed', { offset: 10_000 })).body
    expect(past.data).to.deep.equal([])
    expect(past.pagination).to.include({ total: all.data.length, next_offset: null })
    const spain = (await ask('feed', { country: 'esp', cpv_prefix: '5053' })).body
    expect(spain.data.map((each) => each.publication_number)).to.deep.equal(['90000002-2026'])
  })

  it('filters changes, which have the current facts of their tender', async () => {
    interface ChangeItem {
      readonly tender_id: string
      readonly cpv: string
    }
    const changesOf = async (query: Record<string, unknown> = {}) =>
      (await ask('changes', query)).body.data as unknown as ChangeItem[]
    const [feed, all] = [(await ask('feed', { limit: 100 })).body.data, await changesOf()]
    const ids = feed.map((each) => (each as unknown as { id: string }).id)
    const open = all.find((each) => ids.includes(each.tender_id))
    expect(open).to.include.keys('title', 'title_en', 'buyer', 'country', 'cpv_names', 'score')
    expect(open).to.include({ tender_status: 'open' })
    expect(open).to.have.nested.property('current_deadline.at')
    const filtered = await changesOf({ cpv_prefix: open!.cpv.slice(0, 4), min_score: 1 })
    expect(filtered).to.deep.equal(all.filter(({ cpv }) => cpv === open!.cpv))
    expect(await changesOf({ cpv_prefix: '99' })).to.deep.equal([])
  })

  it('refuses unknown values without a charge and lists the allowed ones', async () => {
    const status = await refusal('feed', { status: 'opened' })
    expect(JSON.stringify(status.body)).to.include('unsuccessful')
    expect(JSON.stringify((await refusal('feed', { country: 'DE' })).body)).to.include('use DEU')
    const bad: [string, Record<string, unknown>][] = [
      ['feed', { limit: 101 }],
      ['feed', { limit: 0 }],
      ['feed', { offset: 10_001 }],
      ['feed', { cpv_prefix: '9' }],
      ['feed', { cpv_prefix: 'abc' }],
      ['feed', { min_score: 101 }],
      ['feed', { country: 'ZZZ' }],
      ['changes', { event: 'moved' }],
      ['changes', { signal: '' }],
      ['changes', { cpv_prefix: '9' }],
      ['changes', { min_score: -1 }],
      ['changes', { colour: 'red' }],
      ['daily-action-brief', { country: 'DEU' }],
    ]
    for (const [path, query] of bad) {
      expect((await refusal(path, query)).status, JSON.stringify(query)).to.equal(422)
    }
  })
})
