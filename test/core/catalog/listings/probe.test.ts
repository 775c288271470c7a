import { expect } from 'chai'
import { normalizeRow } from '../../../../core/catalog/listings/discovery/normalize.ts'
import { probeDue } from '../../../../core/catalog/listings/probe/probe-due.ts'
import { RANK, upsertListings } from '../../../../core/catalog/listings/store.ts'
import { USDC_BASE } from '../../../../core/payments/chain/asset.ts'
import { encodeRequest } from '../../../../core/payments/mpp-challenge.ts'
import { json, paths, type SiteHandler, sells, useCatalog } from '../fixture.ts'
import { offer, PAY_TO, row } from '../rows.ts'

const URL = 'http://shop.test/rain'
const PACE = { gapMs: 0 } as const
const OTHER_PAYEE = '0x52908400098527886E0F7030069857D2E4169EE7'

describe('a probe', () => {
  const fixture = useCatalog()

  const claim = async (...rows: object[]): Promise<void> => {
    const candidates = rows.map((change) => {
      const result = normalizeRow(row({ resource: URL, ...change }), fixture.rules)
      if ('reason' in result) throw new Error(result.reason)
      return result.candidate
    })
    await upsertListings(fixture.pool, RANK.index, candidates)
  }
  const probe = async (times = 1): Promise<void> => {
    for (let n = 0; n < times; n++) {
      await fixture.pool.query('UPDATE hub.listing SET next_probe_at = now()')
      await probeDue({ ...fixture, pace: PACE })
    }
  }
  const listing = async () => {
    const { rows } = await fixture.pool.query(
      `SELECT state, reason, failures, price, pay_to AS "payTo", payable, uptime::float8,
         latency_p50_ms IS NOT NULL AS timed, listed_at IS NOT NULL AS listed,
         extract(epoch FROM next_probe_at - now())::integer AS wait FROM hub.listing`,
    )
    return rows[0]
  }
  const outcomes = async () => {
    const sql = 'SELECT outcome FROM hub.listing_probe ORDER BY at'
    return (await fixture.pool.query(sql)).rows.map(({ outcome }) => outcome)
  }
  const changes = async (field: string) => {
    const sql =
      'SELECT before, after, verified FROM hub.listing_change WHERE field = $1 ORDER BY id'
    return (await fixture.pool.query(sql, [field])).rows
  }
  const found = async () => {
    const sql = `SELECT price, state, description FROM hub.search_document WHERE kind = 'external'`
    return (await fixture.pool.query(sql)).rows
  }

  it('lists a resource with a valid 402, and search finds it at once', async () => {
    fixture.at('shop.test', paths({ '/rain': sells() }))
    await claim({})
    await probe()
    const { wait, ...rest } = (await listing()) ?? {}
    expect(rest).to.deep.equal({
      state: 'active',
      reason: null,
      failures: 0,
      price: 3_000n,
      payTo: PAY_TO,
      payable: true,
      uptime: 100,
      timed: true,
      listed: true,
    })
    expect(wait).to.be.within(3_000, 4_000)
    const description = 'Tells whether it rains.'
    expect(await found()).to.deep.equal([{ price: 3_000n, state: 'active', description }])
  })

  it('never carries a payment, and identifies the hub', async () => {
    fixture.at('shop.test', paths({ '/rain': sells() }))
    await claim({})
    await probe()
    expect(fixture.last.headers).to.not.have.any.keys(
      'payment-signature',
      'x-payment',
      'authorization',
    )
    expect(fixture.last.headers['user-agent']).to.match(/^AgentHub\//)
    expect(fixture.visits).to.deep.equal(['GET shop.test/robots.txt', 'GET shop.test/rain'])
  })

  it('uses the claimed method, with an empty object as its body', async () => {
    const bodies: string[] = []
    fixture.at('shop.test', (request, response) => {
      if (request.method === 'POST') request.on('data', (chunk) => bodies.push(String(chunk)))
      request.on('end', () => sells()(request, response)).resume()
    })
    await claim({ extensions: { bazaar: { info: { input: { method: 'POST' } } } } })
    await probe()
    expect(bodies).to.deep.equal(['{}'])
    expect(await listing()).to.include({ state: 'active' })
  })

  it('replaces claimed terms by those of the seller', async () => {
    fixture.at('shop.test', paths({ '/rain': sells({ amount: '70', payTo: OTHER_PAYEE }) }))
    await claim({})
    await probe()
    expect(await listing()).to.include({ price: 70n, payTo: OTHER_PAYEE })
    expect(await changes('pay_to')).to.deep.equal([
      { before: PAY_TO, after: OTHER_PAYEE, verified: false },
    ])
  })

  it('detects and records changes of price, payee and schema', async () => {
    const schema = (name: string) => ({
      extensions: { bazaar: { info: { input: { method: 'GET', queryParams: { [name]: 'x' } } } } },
    })
    fixture.at('shop.test', paths({ '/rain': sells({}, schema('city')) }))
    await claim({})
    await probe()
    const drifted = sells({ amount: '9000', payTo: OTHER_PAYEE }, schema('town'))
    fixture.at('shop.test', paths({ '/rain': drifted }))
    await probe()
    expect((await changes('price')).at(-1)).to.deep.equal({
      before: '3000',
      after: '9000',
      verified: true,
    })
    expect((await changes('pay_to')).at(-1)).to.deep.equal({
      before: PAY_TO,
      after: OTHER_PAYEE,
      verified: true,
    })
    expect((await changes('schema')).at(-1)).to.have.property('verified', true)
    expect((await found())[0]).to.include({ price: 9_000n })
  })

  const answers: Readonly<Record<string, readonly [outcome: string, site: SiteHandler]>> = {
    'an answer for free': ['not_asked', (_, response) => json(response, { rain: true })],
    'nothing there': ['not_found', (_, response) => response.writeHead(404).end()],
    'another method wanted': ['wrong_method', (_, response) => response.writeHead(405).end()],
    'a complaint about the body': ['refuses', (_, response) => response.writeHead(400).end()],
    'an error': ['server_error', (_, response) => response.writeHead(500).end()],
    'a redirect': [
      'redirect',
      (_, response) => response.writeHead(307, { location: 'http://other.test/' }).end(),
    ],
    '402 without an offer': ['no_offer', (_, response) => response.writeHead(402).end('{}')],
    '402 that nobody can read': [
      'malformed_offer',
      (_, response) => response.writeHead(402, { 'payment-required': '%%%' }).end(),
    ],
    'an offer for another host': [
      'resource',
      sells({}, { resource: { url: 'https://evil.com/rain' } }),
    ],
    'an offer in play money': ['testnet', sells({ network: 'eip155:84532' })],
    'a cut connection': ['unreachable', (_, response) => response.destroy()],
    'a page without end': [
      'not_asked',
      (_, response) => response.writeHead(200).end(Buffer.alloc(400_000)),
    ],
  }
  for (const [title, [outcome, site]] of Object.entries(answers)) {
    it(`records ${outcome} for ${title}`, async () => {
      fixture.at('shop.test', paths({ '/rain': site }))
      await claim({})
      await probe()
      expect(await outcomes()).to.deep.equal([outcome])
      expect(await listing()).to.include({ state: 'unlisted', reason: outcome, listed: false })
      expect(await found()).to.deep.equal([])
    })
  }

  it('degrades a listing at one failure, marks it down at three, active again soon', async () => {
    let up = true
    fixture.at('shop.test', (request, response) => {
      if (request.url === '/rain' && up) sells()(request, response)
      else response.writeHead(request.url === '/rain' ? 500 : 404).end()
    })
    await claim({})
    await probe()
    up = false
    await probe()
    expect(await listing()).to.include({ state: 'degraded', reason: 'server_error', failures: 1 })
    await probe(2)
    expect(await listing()).to.include({ state: 'down', failures: 3, uptime: 25 })
    expect(await found()).to.deep.equal([])
    up = true
    await probe()
    expect(await listing()).to.include({ state: 'degraded', reason: 'unsteady', failures: 0 })
    expect(await found()).to.have.length(1)
    await probe(8)
    expect(await listing()).to.include({ state: 'active', reason: null })
  })

  it('obeys a robots.txt that disallows it by name or in general', async () => {
    const robotsTxt = 'User-agent: AgentHub\nDisallow: /rain\n\nUser-agent: *\nAllow: /'
    const robots: SiteHandler = (_, response) => response.end(robotsTxt)
    fixture.at('shop.test', paths({ '/robots.txt': robots, '/rain': sells() }))
    await claim({})
    await probe()
    expect(fixture.visits).to.deep.equal(['GET shop.test/robots.txt'])
    expect(await listing()).to.include({ state: 'unlisted', reason: 'robots' })
  })

  it("fetches a host's robots.txt once a day, and sends one request at a time", async () => {
    let [open, most] = [0, 0]
    fixture.at('shop.test', (request, response) => {
      open += 1
      most = Math.max(most, open)
      setTimeout(() => {
        open -= 1
        if (request.url === '/robots.txt') response.writeHead(404).end()
        else sells()(request, response)
      }, 5)
    })
    await claim(...Array.from({ length: 12 }, (_, n) => ({ resource: `http://shop.test/${n}` })))
    await probe()
    expect(most).to.equal(1)
    expect(fixture.visits.filter((visit) => visit.endsWith('robots.txt'))).to.have.length(1)
    expect(await outcomes()).to.deep.equal(Array(12).fill('up'))
  })

  it('requests several hosts in turn, each a few times, until none is due', async () => {
    const visited: string[] = []
    const site: SiteHandler = (request, response) => {
      if (request.url !== '/robots.txt') visited.push(request.headers.host ?? '')
      sells()(request, response)
    }
    for (const host of ['shop.test', 'other.test']) fixture.at(host, site)
    const urls = ['shop.test', 'other.test'].flatMap((host) =>
      Array.from({ length: 5 }, (_, n) => ({ resource: `http://${host}/${n}` })),
    )
    await claim(...urls)
    await probeDue({ ...fixture, pace: { ...PACE, hosts: 1, perHost: 3 } })
    const [first, , , second] = visited
    const turns = [first, first, first, second, second, second]
    expect(visited.slice(0, 6)).to.deep.equal(turns)
    expect(new Set(turns)).to.have.length(2)
    expect(visited).to.have.length(10)
  })

  it('adds up each day, with the latencies of successful probes', async () => {
    fixture.at('shop.test', paths({ '/rain': sells() }))
    await claim({})
    await probe(2)
    fixture.clear()
    await probe()
    const { rows } = await fixture.pool.query(
      'SELECT probes, up, cardinality(latencies) AS timed FROM hub.listing_day',
    )
    expect(rows).to.deep.equal([{ probes: 3, up: 2, timed: 2 }])
  })

  it('is made by only one of several processes', async () => {
    fixture.at('shop.test', paths({ '/rain': sells() }))
    await claim({})
    await Promise.all([1, 2, 3].map(() => probeDue({ ...fixture, pace: PACE })))
    expect(await outcomes()).to.deep.equal(['up'])
  })

  it('lists resources that only other clients can pay', async () => {
    const extra = { name: 'USDC', version: '2' }
    fixture.at('shop.test', paths({ '/rain': sells({ extra }) }))
    await claim({})
    await probe()
    expect(await listing()).to.include({ state: 'active', payable: false })
  })

  it('lists as payable what is paid by MPP because its offer of x402 cannot be paid', async () => {
    const request = encodeRequest({
      amount: '3000',
      currency: USDC_BASE.address,
      recipient: PAY_TO,
      methodDetails: { chainId: USDC_BASE.chainId },
    })
    const terms = `method="evm", intent="charge", request="${request}"`
    const abroad = sells({ network: 'eip155:137' })
    const sellsBoth: SiteHandler = (received, response) => {
      response.setHeader('www-authenticate', `Payment id="i", realm="shop.test", ${terms}`)
      abroad(received, response)
    }
    fixture.at('shop.test', paths({ '/rain': sellsBoth }))
    await claim({})
    await probe()
    expect(await listing()).to.include({ state: 'active', payable: true, price: 3_000n })
  })

  it('does not count a rate limit as a failure', async () => {
    fixture.at('shop.test', paths({ '/rain': sells() }))
    await claim({ accepts: [offer()] })
    await probe()
    const busy: SiteHandler = (_, response) =>
      response.writeHead(429, { 'retry-after': '9000' }).end()
    fixture.at('shop.test', paths({ '/rain': busy }))
    await probe()
    const now = await listing()
    expect(now).to.include({ state: 'active', failures: 0, uptime: 100 })
    expect(now?.wait).to.be.greaterThan(8_000)
  })
})
