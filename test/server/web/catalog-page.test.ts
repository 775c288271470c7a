import { expect } from 'chai'
import { load } from 'cheerio'
import { browse } from '../../../core/catalog/search/browse.ts'
import { ask } from '../../support/ask.ts'
import { useHub } from '../../support/suite.ts'

describe('the catalog and the status page', () => {
  const hub = useHub()
  before(() => hub().database.admin.query(PLANT_LISTINGS))
  const open = async (path: string) => {
    const { text, status } = await ask(hub().url, path, { headers: { accept: 'text/html' } })
    expect(status, path).to.equal(200)
    return load(text)
  }
  const names = (page: ReturnType<typeof load>) =>
    page('.card h2 > a')
      .toArray()
      .map((link) => page(link).text())

  it('counts the hits of every filter, and a click shows as many', async () => {
    const page = await open('/services?q=text')
    const filters = page('.facets li').toArray()
    expect(filters.length).to.be.greaterThan(2)
    for (const filter of filters.slice(0, 6)) {
      const count = Number(page(filter).find('.muted').text())
      const target = String(page(filter).find('a').attr('href'))
      expect(names(await open(target)), target).to.have.length(Math.min(count, 20))
    }
  })

  it('removes a chosen filter by another click', async () => {
    const page = await open('/services?q=text&type=native')
    const chosen = page('.facets a[aria-current]')
    expect(chosen.text()).to.include('This hub')
    expect(chosen.attr('href')).to.equal('/services?q=text')
  })

  it('sorts by price, whatever the relevance, and keeps the filters', async () => {
    const page = await open('/services?type=native&sort=price')
    const prices = page('.card .facts strong')
      .toArray()
      .map((each) => Number(page(each).text().split(' ')[0]!.replace('$', '')))
    expect(prices.length).to.be.greaterThan(2)
    expect(prices).to.deep.equal(prices.toSorted((a, b) => a - b))
    expect(page('.labeled-switch').text()).to.match(/^Sort by\s*Relevance/)
    const links = page('.view-switch a')
      .toArray()
      .map((link) => page(link).attr('href'))
    expect(links.every((link) => link?.includes('type=native'))).to.equal(true)
  })

  it('sorts by the 95th percentile of delivered calls, and shows it', async () => {
    const { admin } = hub().database
    const plant = (service: string, ms: readonly number[], calls: readonly number[]) =>
      admin.query(
        `INSERT INTO hub.outcome_day
         SELECT service, (now() AT TIME ZONE 'UTC')::date, id, 'delivered', false, $2, $3
         FROM hub.endpoint WHERE service = $1 AND state = 'active' ORDER BY id LIMIT 1`,
        [service, ms, calls],
      )
    await plant('echo', [40, 700], [94, 6])
    await plant('analysis', [30, 900], [95, 5])
    await admin.query(
      `INSERT INTO hub.service_day (service, day, calls, up, delivered, failed, latency_ms)
       SELECT slug, (now() AT TIME ZONE 'UTC')::date, 100, 100, 100, 0, 5000
       FROM unnest('{echo,analysis}'::text[]) slug
       ON CONFLICT (service, day) DO UPDATE SET calls = 100, up = 100`,
    )
    await admin.query('SELECT hub.refresh_service_signals()')
    const page = await open('/services?type=native&sort=latency')
    expect(names(page).slice(0, 2)).to.deep.equal(['Analysis', 'Echo'])
    const facts = page('.card .facts').toArray()
    expect(page(facts[0]).text()).to.include('p95 30 ms')
    expect(page(facts[1]).text()).to.include('p95 700 ms')
  })

  it('shows errors, and the latency of one endpoint, of the chosen days of a service', async () => {
    const { admin } = hub().database
    const { rows } = await admin.query<{ id: number; name: string }>(
      `SELECT id, method || ' ' || path AS name FROM hub.endpoint
       WHERE service = 'analysis' AND state = 'active' ORDER BY id OFFSET 1 LIMIT 1`,
    )
    const { id, name } = rows[0]!
    const plant = (outcome: string, refused: boolean, ms: number, calls: number) =>
      admin.query(
        `INSERT INTO hub.outcome_day
         VALUES ('analysis', (now() AT TIME ZONE 'UTC')::date - 40, $1, $2, $3, ARRAY[$4::integer],
           ARRAY[$5::integer])`,
        [id, outcome, refused, ms, calls],
      )
    await plant('delivered', false, 70, 20)
    await plant('upstream_timeout', false, -1, 3)
    await plant('validation_failed', true, -1, 2)
    await admin.query(
      `INSERT INTO hub.service_day (service, day, calls, up, delivered, failed, latency_ms)
       VALUES ('analysis', (now() AT TIME ZONE 'UTC')::date - 40, 25, 25, 20, 5, 1400)`,
    )
    const quarter = await open(`/services/analysis?days=90&endpoint=${encodeURIComponent(name)}`)
    const label = quarter('svg[aria-label^="Latency of"]').attr('aria-label')
    expect(label).to.equal(`Latency of ${name} by day, p50, p95, p99. Slowest day: p99 70 ms.`)
    const errors = quarter('[aria-label=Errors] tbody tr')
      .toArray()
      .map((row) => quarter(row).text().replaceAll(/\s+/g, ' '))
    expect(errors).to.have.length(2)
    expect(errors[0]).to.match(/of the service ?3/)
    expect(errors[1]).to.match(/of the caller ?2/)
    expect(quarter('[aria-label=Errors] a').attr('href')).to.equal(
      '/docs/problems/upstream_timeout',
    )
    const month = await open('/services/analysis')
    expect(month('.comparison').text()).to.include('from 25 calls in the previous 30 days')
    expect(month('[aria-label=Errors]').length, 'none in these days').to.equal(0)
    const headers = { accept: 'text/html' }
    expect((await ask(hub().url, '/services/analysis?days=3', { headers })).status).to.equal(422)
  })

  it('is found under the former address of the search, with all filters', async () => {
    const headers = { accept: 'text/html' }
    const former = await ask(hub().url, '/search?q=a%26b&type=native', { headers })
    expect([former.status, former.headers['location']]).to.deep.equal([
      303,
      '/services?q=a%26b&type=native',
    ])
  })

  it('compares the selected services, up to four', async () => {
    const cards = await open('/services')
    const ids = cards('input[form=compare]')
      .toArray()
      .slice(0, 6)
      .map((box) => `id=${String(cards(box).val())}`)
    expect(ids.length).to.be.greaterThan(4)
    const page = await open(`/compare?id=echo&id=echo&${ids.join('&')}`)
    const columns = page('thead th').toArray()
    expect(columns).to.have.length(1 + 4)
    expect(page(columns[1]).text()).to.equal('Echo')
    expect(page('main').text()).to.include('Only the first 4 are shown')
    const removed = await open(String(page('[aria-label="Remove Echo"]').attr('href')))
    expect(removed('thead').text()).not.to.include('Echo')
    expect(removed('thead th').toArray()).to.have.length(1 + 3)
    expect((await open('/compare'))('main').text()).to.include('No service selected')
  })

  it('refuses a cursor of another list', async () => {
    const encode = (position: unknown) =>
      Buffer.from(JSON.stringify(position)).toString('base64url')
    const positions = [
      [0],
      [1e9],
      [2, ['x', 'native', 'echo']],
      [2, [1e300, 'native', 'echo']],
      [2, [0, 'native', "e'\u0000"]],
    ]
    for (const sort of ['relevance', 'price', 'latency', 'uptime', 'calls']) {
      for (const cursor of ['x', ...positions.map(encode)]) {
        const path = `/services?sort=${sort}&cursor=${cursor}`
        const { status } = await ask(hub().url, path, { headers: { accept: 'text/html' } })
        expect(status, `${sort} ${cursor}`).to.equal(422)
      }
    }
  })

  it('leads from page to page through the whole catalog, in every order', async () => {
    const { admin } = hub().database
    const { rows } = await admin.query<{ total: number }>(
      'SELECT count(*)::integer AS total FROM hub.search_document',
    )
    const { total = 0 } = rows[0] ?? {}
    expect(total).to.be.greaterThan(130)
    for (const sort of ['', 'price', 'latency', 'uptime', 'calls']) {
      const found = new Set<string>()
      let [next, pages]: [string | undefined, number] = [`/services?sort=${sort || 'relevance'}`, 0]
      let text = ''
      while (next !== undefined) {
        const page = await open(next)
        const links = page('.card h2 > a').toArray()
        for (const link of links) found.add(String(page(link).attr('href')))
        text = page('main').text()
        next = page('.pager [rel=next]').attr('href')
        pages++
      }
      expect(pages, sort).to.equal(Math.ceil(total / 20))
      expect(text, sort).to.include(`Page ${pages} of ${pages}`)
      expect(found.size, sort).to.equal(total)
    }
  })

  it('filters and sorts over the whole catalog, not over its best documents', async () => {
    const page = await open('/services?category=planted-even&min_uptime=99')
    expect(names(page)).to.deep.equal(['Planted 130'])
    expect(page('.card').text()).to.include('p95 870 ms')
    const fastest = await open('/services?category=planted-even&sort=latency')
    expect(names(fastest).slice(0, 2)).to.deep.equal(['Planted 130', 'Planted 128'])
    const cheapest = await open('/services?category=planted-odd&sort=price&max_price=0.0499')
    expect(names(cheapest)).to.have.length(15)
    expect(names(cheapest)[0]).to.equal('Planted 129')
  })

  it('marks new and failing services', async () => {
    const { admin } = hub().database
    await admin.query(
      `INSERT INTO hub.service_day (service, day, calls, up, delivered, failed, latency_ms)
       SELECT 'echo', (now() AT TIME ZONE 'UTC')::date, 10, 2, 2, 8, 90
       ON CONFLICT (service, day) DO UPDATE SET calls = 10, up = 2`,
    )
    await admin.query(
      `UPDATE hub.service SET listed_at = now() - interval '15 days' WHERE slug = 'analysis'`,
    )
    const card = async (slug: string) => {
      const page = await open('/services?type=native')
      return page(`.card:has(h2 a[href="/services/${slug}"]) h2`).text()
    }
    expect(await card('echo'))
      .to.include('New')
      .and.to.include('Failing')
    expect(await card('analysis')).not.to.include('New')
  })

  it('lists days with failed calls and pauses of payments as incidents, also as RSS', async () => {
    const { admin } = hub().database
    const plant = (days: readonly number[], calls: number, up: number) =>
      admin.query(
        `INSERT INTO hub.service_day (service, day, calls, up, delivered, failed, latency_ms)
         SELECT 'analysis', (now() AT TIME ZONE 'UTC')::date - d, $2::bigint, $3::bigint, $3,
           $2::bigint - $3::bigint, 90
         FROM unnest($1::integer[]) d ON CONFLICT (service, day) DO UPDATE SET calls = $2, up = $3`,
        [days, calls, up],
      )
    await plant([20, 19, 9], 10, 4)
    await plant([15], 2, 0)
    await plant([14], 1_000, 990)
    for (const paused of [true, true, false]) {
      await admin.query("SELECT hub.switch_outgoing($1, 'ops', 'chain reorganized')", [paused])
    }
    const page = await open('/status')
    const incidents = page('.incidents > li')
      .toArray()
      .map((each) => page(each).text())
    expect(incidents.filter((text) => text.includes('Analysis'))).to.have.length(2)
    expect(incidents.at(-1)).to.include('12 calls of 20 failed and cost nothing; 40.0 % up')
    const pauses = incidents.filter((text) => text.includes('Payments to external sellers'))
    expect(pauses).to.have.length(1)
    expect(pauses[0]).not.to.include('ongoing').and.not.to.include('reorganized')
    const { text, headers } = await ask(hub().url, '/status/incidents.xml')
    expect(headers['content-type']).to.include('application/rss+xml')
    const feed = load(text, { xml: true })
    expect(feed('item').length).to.equal(incidents.length)
    expect(feed('item link').last().text()).to.match(/\/status#analysis-\d{4}-\d\d-\d\d$/)
  })

  it('reads every page of every order from an index, however deep', async () => {
    const { admin } = hub().database
    await admin.query(`INSERT INTO hub.search_document
        (kind, id, name, provider, category, tags, description, words, networks, price, state,
         listed_at, uptime, p95_ms, calls)
      SELECT 'external', 'deep-' || n, 'Deep ' || n, 'deep', 'deep', '{}', '', '', '{}', n % 977,
        'active', now(), nullif(n % 101, 0), nullif(n % 499, 0), n % 211
      FROM generate_series(1, 5000) n`)
    await admin.query('ANALYZE hub.search_document, hub.search_entry')
    for (const order of ['relevance', 'price', 'latency', 'uptime', 'calls'] as const) {
      const plans: string[] = []
      const pool = {
        query: async (sql: string, values: unknown[]) => {
          const plan = await admin.query(`EXPLAIN (COSTS OFF) ${sql}`, values)
          plans.push(plan.rows.map((row) => row['QUERY PLAN']).join('\n'))
          return admin.query(sql, values)
        },
      } as unknown as typeof admin
      const { last } = await browse(pool, {}, order, { limit: 4_000 })
      const next = await browse(pool, {}, order, { limit: 20, after: last })
      expect(next.ranked).to.have.length(20)
      await browse(pool, {}, order, { limit: 20 })
      for (const plan of plans.slice(1)) {
        expect(plan, order)
          .to.match(/Index (?:Only )?Scan/)
          .and.not.to.include('Sort')
      }
      expect(plans[1], `${order}, position`).to.include('Index Cond')
    }
  })
})

/** 130 external listings. The last one is the fastest and the only one above 99 % uptime. */
const PLANT_LISTINGS = `
  INSERT INTO hub.listing (id, url, method, origin, host, name, description, category, tags,
    provider, scheme, network, asset, pay_to, price, payable, offers, state, rank, listed_at,
    last_verified_at, next_probe_at, uptime, latency_p50_ms, latency_p95_ms)
  SELECT 'ext_' || lpad(i::text, 22, 'P'), 'https://planted' || i || '.example/v1', 'GET',
    'https://planted' || i || '.example', 'planted' || i || '.example', 'Planted ' || i,
    'One of many listings.', CASE i % 2 WHEN 0 THEN 'planted-even' ELSE 'planted-odd' END, '{}',
    'planted' || i, 'exact', 'eip155:8453', '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
    '0x' || lpad(to_hex(i), 40, '0'), 50000 - i, true, '[{"network": "eip155:8453"}]', 'active', 1,
    now(), now(), NULL, CASE i WHEN 130 THEN 100 ELSE 98 END, 400, 1000 - i
  FROM generate_series(1, 130) i`
