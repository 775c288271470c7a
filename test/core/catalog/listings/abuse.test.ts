import { expect } from 'chai'
import { assessListing } from '../../../../core/catalog/listings/cautions.ts'
import { normalizeRow } from '../../../../core/catalog/listings/discovery/normalize.ts'
import { findListing, type Listing } from '../../../../core/catalog/listings/find-listings.ts'
import { missingFields } from '../../../../core/catalog/listings/input-fields.ts'
import { RANK, upsertListings } from '../../../../core/catalog/listings/store.ts'
import { search } from '../../../../core/catalog/search/search.ts'
import { systemClock } from '../../../../core/clock.ts'
import { ListedTermsStore } from '../../../../core/payments/paying/listed-terms.ts'
import { useCatalog } from '../fixture.ts'
import { offer, row } from '../rows.ts'

const URL = 'https://shop.test/rain'
const PAYEE = '0x52908400098527886E0F7030069857D2E4169EE7'
const wallet = (n: number): string => `0x${n.toString(16).padStart(40, '0')}`

interface Payments {
  /** Account of the payer; its wallet is `wallet(payer)`. */
  readonly payer: number
  readonly count: number
  readonly status?: number
  readonly days?: number
  readonly ms?: number
  readonly incomplete?: boolean
}

describe('abuse of the catalog', () => {
  const fixture = useCatalog()
  const run = (sql: string, values: unknown[] = []) => fixture.database.admin.query(sql, values)
  before(() => run('ALTER TABLE hub.payment_intent DISABLE TRIGGER USER'))
  afterEach(() => run(`TRUNCATE hub.payment_intent, hub.call`))

  /** Lists rows that a probe has seen. */
  const list = async (...changes: object[]): Promise<void> => {
    const candidates = changes.flatMap((change) => {
      const result = normalizeRow(row({ resource: URL, ...change }), fixture.rules)
      return 'candidate' in result ? [result.candidate] : []
    })
    await upsertListings(fixture.pool, RANK.index, candidates)
    await run(`UPDATE hub.listing SET state = 'active', reason = NULL, last_verified_at = now(),
      listed_at = now() - interval '60 days'`)
  }
  const paid = (name: string, path: string, payTo = PAYEE, host = `${name}.acme.com`) => ({
    resource: `https://${host}${path}`,
    accepts: [offer({ payTo })],
  })
  const find = async (query: string) => {
    const { hits } = await search(fixture.pool, systemClock, { query, limit: 20 })
    const { rows } = await run('SELECT id, host, name FROM hub.listing')
    return hits.map((hit) => ({
      host: hit.candidate.id,
      ...rows.find(({ id }) => id === hit.candidate.id),
      why: hit.why.join('; '),
    }))
  }
  /** Records payments to the listing and computes its figures, as a probe does. */
  const pay = async (...payments: Payments[]): Promise<void> => {
    for (const { payer, count, status = 200, days = 60, ms = 800, incomplete } of payments) {
      await run(
        `INSERT INTO hub.principal (id, wallet_address, shard, created_at)
         VALUES ($1, $2, 0, now() - make_interval(days => $3)) ON CONFLICT DO NOTHING`,
        [principal(payer), wallet(payer), days],
      )
      await run(
        `WITH c AS (SELECT gen_random_uuid() AS id FROM generate_series(1, $4)), made AS (
           INSERT INTO hub.call (id, at, request_id, principal, service, endpoint, price_version,
             source, charged, outcome, status, latency_ms)
           SELECT id, now(), '', $1, 'external', 1, 1, 'credits', 0, 'failed', $3, $5 FROM c)
         INSERT INTO hub.payment_intent (call, owner, url, host, seller, network, asset, payer,
           payee, amount, nonce, valid_before, payload_hash, from_block, state, status, reason,
           principal,
           incomplete)
         SELECT id, 1, $2, 'shop.test', $2, '', '', '', '', 1, id::text, now(), '', 0,
           CASE WHEN $3 = 200 THEN 'confirmed' ELSE 'unused' END, $3,
           CASE WHEN $3 = 200 THEN NULL ELSE 'upstream_error' END, $1, $6 FROM c`,
        [principal(payer), URL, status, count, ms, incomplete],
      )
    }
    await run(`UPDATE hub.listing l SET
      (calls, delivered, payers, trust, success, rejected, paid_ms) = (
        SELECT f.* FROM hub.figures_of(l) f)`)
  }
  const principal = (n: number): string => `prn_${String(n).padStart(16, '0')}`
  const listing = async (): Promise<Listing> => {
    const { rows } = await run('SELECT id FROM hub.listing WHERE url = $1', [URL])
    return (await findListing(fixture.pool, rows[0].id))!
  }
  const warnings = async (): Promise<string[]> => {
    const { id } = await listing()
    const assessed = await assessListing(fixture.pool, id, new Date())
    return assessed!.cautions.map(({ code }) => code)
  }

  const HONEST = [11, 12, 13].map((payer) => ({ payer, count: 4 }))

  describe('sabotage of a rival', () => {
    it('by thousands of wrong requests changes nothing', async () => {
      await list({})
      await pay(...HONEST, { payer: 20, count: 2_100, status: 400 })
      expect(await listing()).to.include({ payers: 3, success: 1, calls: 12, rejected: 2_000 })
      expect(await warnings()).to.not.include('often_undelivered')
    })
    it('by requests without a required field changes nothing', async () => {
      await list({})
      await pay(...HONEST, { payer: 20, count: 50, status: 500, incomplete: true })
      expect(await listing()).to.include({ payers: 3, success: 1 })
    })
    it('by many failures of one account counts as one payer', async () => {
      await list({})
      await pay(...HONEST, { payer: 20, count: 500, status: 500 })
      expect(await listing()).to.include({ payers: 4, success: 0.75 })
    })
    it('by new accounts counts a tenth each', async () => {
      await list({})
      const fresh = [21, 22, 23].map((payer) => ({ payer, count: 9, status: 500, days: 0 }))
      await pay(...HONEST, ...fresh)
      expect((await listing()).success).to.be.closeTo(0.91, 0.01)
      expect(await warnings()).to.not.include('often_undelivered')
    })
    it('by one or two failures gives a new seller no caution', async () => {
      await list({})
      await pay({ payer: 20, count: 2, status: 500 })
      expect(await warnings()).to.not.include('often_undelivered')
      await pay({ payer: 20, count: 1, status: 500 })
      expect(await warnings()).to.include('often_undelivered')
    })
    it('is distinguished from a seller that fails its payers', async () => {
      await list({})
      await pay(...HONEST.map((each) => ({ ...each, status: 500 })))
      expect(await warnings()).to.include('often_undelivered')
    })
  })

  describe('self-dealing', () => {
    it('from the wallet of the payee counts for nothing', async () => {
      await list(paid('shop', '/rain', wallet(30), 'shop.test'))
      await pay({ payer: 30, count: 900 })
      expect(await listing()).to.include({ payers: 0, calls: 0, success: null })
    })
    it('from accounts with credits from one wallet counts as one payer', async () => {
      await list({})
      await run(`INSERT INTO hub.payment_claim (network, asset, payer, nonce, id, purpose, pay_to,
          payee, commission_bps, request_hash, amount, valid_before)
        SELECT 'n', '${wallet(1)}', '${wallet(99)}', '0x' || repeat('0', 64), gen_random_uuid(),
          'credits', '${wallet(2)}', code, 0, '', 1, now() FROM ledger.account WHERE id = 1`)
      await pay({ payer: 31, count: 5 }, { payer: 32, count: 5 }, { payer: 33, count: 5 })
      expect(await listing()).to.include({ payers: 1, calls: 15 })
      await run('DELETE FROM hub.payment_claim')
    })
  })

  it('by speed for the prober alone is noticed', async () => {
    await list({})
    await run('UPDATE hub.listing SET latency_p50_ms = 40')
    await pay(...HONEST.map((each) => ({ ...each, ms: 9_000 })))
    expect((await listing()).paidMs).to.equal(9_000)
    expect(await warnings()).to.include('slower_when_paid')
  })

  it('by a creeping price is refused for seven days and noticed for thirty', async () => {
    await list({})
    for (const price of [3_100, 3_200, 3_300]) {
      await run('UPDATE hub.listing SET price = $1', [price])
    }
    const terms = new ListedTermsStore(fixture.pool)
    expect((await terms.find('GET', URL))?.price).to.equal(3_000n)
    expect(await warnings()).to.include('price_raised')
    await run(`UPDATE hub.listing_change SET at = now() - interval '8 days'`)
    expect((await terms.find('GET', URL))?.price).to.equal(3_300n)
    expect(await warnings()).to.include('price_raised')
  })

  it('by a flood of other changes hides no caution', async () => {
    await list({})
    await run('UPDATE hub.listing SET price = price + 500')
    await run(`INSERT INTO hub.listing_change (listing, field, before, after, verified)
      SELECT id, 'schema', n::text, (n + 1)::text, true
      FROM hub.listing, generate_series(1, 150) n`)
    expect(await warnings()).to.include.members(['price_raised', 'schema_changed'])
  })

  describe('imitation', () => {
    it('of a provider or service by letters that look alike loses the name', async () => {
      await run(`INSERT INTO hub.provider (id) VALUES ('rainmakers') ON CONFLICT DO NOTHING`)
      const names = ['Rainmakers', 'Rаinmаkers', 'RAlNMAKERS', 'Rain makers weather']
      await list(...names.map((serviceName, n) => ({ ...paid('shop', `/${n}`), serviceName })))
      const { rows } = await run('SELECT name FROM hub.listing ORDER BY url')
      const host = 'shop.acme.com'
      expect(rows.map(({ name }) => name)).to.deep.equal([host, host, host, names[3]])
    })
    it('of a provider in the claim of an index shows the host', async () => {
      await list({ metadata: { provider: 'Coinbase' } })
      expect((await listing()).provider).to.equal('shop.test')
      await run(`INSERT INTO hub.principal (id, shard) VALUES ('${principal(40)}', 0)`)
      await run(`INSERT INTO hub.listing_owner (host, principal, method)
        VALUES ('shop.test', '${principal(40)}', 'dns')`)
      expect((await listing()).provider, 'a claim of an index').to.equal('shop.test')
      await run('UPDATE hub.listing SET rank = 6')
      expect((await listing()).provider).to.equal('Coinbase')
    })
    it('of a first-party service by name stays behind it', async () => {
      await run(`INSERT INTO hub.search_document (kind, id, name, provider, category, tags,
          description, words, networks, price, state, listed_at, sellers)
        VALUES ('native', 'rainfall', 'Rainfall', 'agenthub', 'weather', '{}', 'Rain.', '', '{}',
          90000, 'active', '2026-01-01', '{}')`)
      await list({ ...paid('fake', '/a'), serviceName: 'Rainfall', description: 'Rain rain now.' })
      const [first, second] = await find('rainfall')
      expect([first!.host, second!.host]).to.deep.equal(['rainfall', 'fake.acme.com'])
    })
  })

  const description = 'Translates a text into another language, with the tone that you choose.'
  const rivals = ['one', 'two', 'three'].map((name, n) => ({
    ...paid(name, '/translate', wallet(100 + n)),
    serviceName: `${name} translator`,
    description: 'Neural translation of documents between forty languages.',
  }))

  it('by 500 near-duplicates fills one hit', async () => {
    const flood = Array.from({ length: 500 }, (_, n) => ({
      ...paid('flood', `/translate/${n}`, PAYEE, `host${n}.flood.acme.com`),
      serviceName: `Translate text ${n}`,
      description: `${description} Variant ${n}.`,
    }))
    await list(...rivals, ...flood)
    const hits = await find('translate text')
    expect(hits.filter(({ host }) => String(host).endsWith('flood.acme.com'))).to.have.length(1)
    expect(hits[0]!.why).to.match(/stands for \d+ similar listings/)
    expect(hits).to.have.length(4)
  })

  it('by many different listings takes two of the first five hits', async () => {
    const words = 'legal medical technical literary casual formal poetic brief'.split(' ')
    const many = words.map((word, n) => ({
      ...paid('many', `/${n}`, PAYEE, `${word}.acme.com`),
      serviceName: `Translate text, ${word}`,
      description: `${word} ${words.slice(0, n + 1).join(` ${word} `)} translate`,
    }))
    await list(...rivals, ...many)
    const head = (await find('translate text')).slice(0, 5)
    const own = head.filter(({ host }) => words.includes(String(host).split('.')[0]!))
    expect(own).to.have.length(2)
  })

  it('by stuffed words gains nothing', async () => {
    const stuffed = `${'translate text translation '.repeat(30)}weather crypto image search pdf ai`
    const honest = { ...rivals[0]!, serviceName: 'Translate text', description }
    await list(honest, {
      ...paid('stuffed', '/x', wallet(200)),
      serviceName: 'Translate text translation translator weather crypto image search',
      description: stuffed,
    })
    expect((await find('translate text'))[0]!.host).to.equal('one.acme.com')
  })

  it('by a host as a search word or a method finds nothing', async () => {
    await list(paid('translate', '/rain'))
    expect(await find('translate')).to.deep.equal([])
    expect(await find('get')).to.deep.equal([])
    expect((await find('translate.acme.com')).map(({ host }) => host)).to.deep.equal([
      'translate.acme.com',
    ])
  })
})

describe('missing fields of a request', () => {
  const schema = {
    properties: { queryParams: { properties: { city: {}, day: {} }, required: ['city'] } },
  }
  const cases = [
    ['a query without it', schema, { url: URL, method: 'GET' }, ['city']],
    ['a query with it', schema, { url: `${URL}?city=Oslo`, method: 'GET' }, []],
    [
      'fields of version 1',
      { bodyFields: { text: { type: 'string', required: true }, to: {} } },
      { url: URL, method: 'POST', body: { to: 'de' } },
      ['text'],
    ],
    [
      'a schema of the body',
      { type: 'object', properties: { text: {} }, required: ['text'] },
      { url: URL, method: 'POST', body: '{"text":"a"}' },
      [],
    ],
    ['an example', { city: 'Oslo' }, { url: URL, method: 'GET' }, []],
    ['no schema', null, { url: URL, method: 'GET' }, []],
    [
      'a body that is not JSON',
      { properties: { a: {} }, required: ['a'] },
      { url: URL, method: 'POST', body: 'a' },
      [],
    ],
  ] as const
  for (const [title, input, request, missing] of cases) {
    it(`are known for ${title}`, () => expect(missingFields(input, request)).to.deep.equal(missing))
  }
})
