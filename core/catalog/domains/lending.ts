import type { Pool } from 'pg'
import type { Micros } from '../../money.ts'
import type { PageRule } from '../../plugin/pages.ts'
import type { Domains, SellingDomain } from '../../plugin/parts.ts'
import type { Robots } from '../listings/probe/robots.ts'
import { bySpecificity, pageOf } from './pages.ts'
import { RULES_JSON, type RuleJson, ruleOf } from './rules.ts'

const PAGE = 100

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

/** Only what has a rule that sells something is on sale. */
const SELLING = `SELECT d.id, d.slug, d.host, d.origin, d.provider, d.name, d.summary, ${RULES_JSON}
  FROM hub.domain d WHERE d.state = 'verified' AND d.selling
    AND EXISTS (SELECT FROM hub.domain_rule s WHERE s.domain = d.id AND s.allow)`

/** What the content gateway is lent: domains that are on sale, and a note of what was read. */
export const domainsOn = (pool: Pool, robots: Pick<Robots, 'allows'>): Domains => ({
  mayRead: (url) => robots.allows(url),
  async find(slug) {
    const { rows } = await pool.query<SellingRow>({
      name: 'domains.find',
      text: `${SELLING} AND d.slug = $1`,
      values: [slug],
    })
    return rows[0] && sellingOf(rows[0])
  },
  async list(after) {
    const { rows } = await pool.query<SellingRow>(
      `${SELLING} AND d.slug > $1 ORDER BY d.slug LIMIT ${PAGE}`,
      [after],
    )
    return rows.map(sellingOf)
  },
  async note({ call, domain, url, cached }) {
    await pool.query(
      `INSERT INTO hub.page_call (call, domain, url, cached) VALUES ($1, $2, $3, $4)
       ON CONFLICT (call) DO NOTHING`,
      [call, domain, url, cached],
    )
  },
})

function sellingOf({ rules: written, ...row }: SellingRow): SellingDomain {
  const rules = bySpecificity(written.map(ruleOf))
  const prices = rules.flatMap(({ allow, price }) => (allow ? [price] : []))
  return {
    ...row,
    example: `${row.origin}${exampleOf(rules)}`,
    maxPrice: prices.reduce((most, price) => (price > most ? price : most), 0n as Micros),
    page: (text) => pageOf({ ...row, rules }, text),
  }
}

/** Of what is sold, rather what is named by itself than what a wildcard stands for. */
function exampleOf(rules: readonly PageRule[]): string {
  const sold = rules.flatMap(({ allow, pattern }) => (allow ? [pattern] : []))
  const pattern = sold.find((each) => !each.includes('*')) ?? sold[0] ?? '/'
  return pattern.replace(/\*.*$/, '')
}
