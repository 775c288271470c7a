import type { Pool } from 'pg'
import { json } from '../../money.ts'
import type { PageRule } from '../../plugin/pages.ts'
import type { Domains, SellingDomain, SoldPage } from '../../plugin/parts.ts'
import type { Robots } from '../listings/probe/robots.ts'
import { notifyLowConfidence } from './low-confidence.ts'
import { matchPage, sortBySpecificity } from './match-page.ts'
import type { PagePreviews } from './previews.ts'
import { parseRule, RULES_JSON, type RuleJson } from './rules.ts'
import type { SiteLicenses } from './site-licenses.ts'
import { APPROVED_TEXTS } from './versions.ts'

const PAGE_SIZE = 100

interface SellingRow {
  readonly id: string
  readonly slug: string
  readonly host: string
  readonly origin: string
  readonly provider: string
  readonly name: string
  readonly summary: string
  readonly rules: readonly RuleJson[]
}

/** A domain is on sale only if one of its rules allows a page. */
const SELECT_SELLING = `SELECT d.id, d.slug, d.host, d.origin, d.provider, t.name, t.summary,
  ${RULES_JSON} FROM hub.domain d CROSS JOIN LATERAL (${APPROVED_TEXTS}) t
  WHERE d.state = 'verified' AND d.selling
    AND EXISTS (SELECT FROM hub.domain_rule s WHERE s.domain = d.id AND s.allow)`

/** Creates the capability injected into the content gateway: domains on sale, and page records. */
export const injectedDomains = (
  pool: Pool,
  robots: Pick<Robots, 'allows'>,
  licenses: Pick<SiteLicenses, 'allowFreeUse'>,
  previews: Pick<PagePreviews, 'provide'>,
  serviceUrl: (slug: string) => string,
): Domains => ({
  mayRead: (url) => robots.allows(url),
  allowFreeUse: (url, own) => licenses.allowFreeUse(url, own),
  async find(slug) {
    const { rows } = await pool.query<SellingRow>({
      name: 'domains.find',
      text: `${SELECT_SELLING} AND d.slug = $1`,
      values: [slug],
    })
    return rows[0] && sellingDomain(rows[0], serviceUrl)
  },
  async list(after) {
    const { rows } = await pool.query<SellingRow>(
      `${SELECT_SELLING} AND d.slug > $1 ORDER BY d.slug LIMIT ${PAGE_SIZE}`,
      [after],
    )
    return rows.map((row) => sellingDomain(row, serviceUrl))
  },
  async note({ call, domain, pages }) {
    const [first, ...others] = pages
    if (!first) return
    await pool.query(
      `INSERT INTO hub.page_call (call, domain, url, cached, pages) VALUES ($1, $2, $3, $4, $5)
       ON CONFLICT (call) DO UPDATE SET url = $3, cached = $4, pages = $5`,
      [call, domain, first.url, first.cached, others.length === 0 ? null : batchJson(pages)],
    )
  },
  reportLowConfidence: (doubt) => notifyLowConfidence(pool, doubt),
  providePreviews: (read) => previews.provide(read),
})

/** JSON of a batch. `before` is the sum of the charges before it, by which commission is split. */
function batchJson(pages: readonly SoldPage[]): string {
  let before = 0n
  const rows = pages.map(({ url, cached, charged }) => {
    const row = { url, cached, charged: json(charged), before: json(before) }
    before += charged
    return row
  })
  return JSON.stringify(rows)
}

function sellingDomain(
  { rules: rows, ...row }: SellingRow,
  serviceUrl: (slug: string) => string,
): SellingDomain {
  const rules = sortBySpecificity(rows.map(parseRule))
  const prices = rules.flatMap(({ allow, price }) => (allow ? [price] : []))
  return {
    ...row,
    example: `${row.origin}${examplePath(rules)}`,
    minPrice: prices.reduce((min, price) => (price < min ? price : min)),
    maxPrice: prices.reduce((max, price) => (price > max ? price : max)),
    serviceUrl: serviceUrl(row.slug),
    rules: rules.filter(({ agents }) => agents.length === 0),
    page: (text, agent) => matchPage({ ...row, rules }, text, agent),
  }
}

/** Returns a path that is for sale, preferably from a rule without a wildcard. */
function examplePath(rules: readonly PageRule[]): string {
  const patterns = rules.flatMap(({ allow, pattern }) => (allow ? [pattern] : []))
  const pattern = patterns.find((each) => !each.includes('*')) ?? patterns[0] ?? '/'
  const [path = '/'] = pattern.split('*', 1)
  return path
}
