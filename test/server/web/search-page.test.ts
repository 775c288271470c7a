import { expect } from 'chai'
import { load } from 'cheerio'
import { ask } from '../../support/ask.ts'
import { useHub } from '../../support/suite.ts'

describe('the search page', function () {
  this.timeout(120_000)
  const hub = useHub()
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
    const page = await open('/search?q=text')
    const filters = page('.facets li').toArray()
    expect(filters.length).to.be.greaterThan(2)
    for (const filter of filters.slice(0, 6)) {
      const count = Number(page(filter).find('.muted').text())
      const target = String(page(filter).find('a').attr('href'))
      expect(names(await open(target)), target).to.have.length(Math.min(count, 20))
    }
  })

  it('removes a chosen filter by another click', async () => {
    const page = await open('/search?q=text&type=native')
    const chosen = page('.facets a[aria-current]')
    expect(chosen.text()).to.include('This hub')
    expect(chosen.attr('href')).to.equal('/search?q=text')
  })

  it('sorts by price, whatever the relevance, and keeps the filters', async () => {
    const page = await open('/search?type=native&sort=price')
    const prices = page('.card .facts strong')
      .toArray()
      .map((each) => Number(page(each).text().split(' ')[0]!.replace('$', '')))
    expect(prices.length).to.be.greaterThan(2)
    expect(prices).to.deep.equal(prices.toSorted((a, b) => a - b))
    const links = page('.view-switch a')
      .toArray()
      .map((link) => page(link).attr('href'))
    expect(links.every((link) => link?.includes('type=native'))).to.equal(true)
  })

  it('shows the last page for a later one, and the first one for no number', async () => {
    const first = names(await open('/search?type=native'))
    for (const number of ['6', '-1', '0', 'x', '1e9']) {
      expect(names(await open(`/search?type=native&page=${number}`)), number).to.deep.equal(first)
    }
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
      const page = await open('/search?type=native')
      return page(`.card:has(h2 a[href="/services/${slug}"]) h2`).text()
    }
    expect(await card('echo'))
      .to.include('New')
      .and.to.include('Failing')
    expect(await card('analysis')).not.to.include('New')
  })
})
