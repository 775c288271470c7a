import type { Database, Domains, Host, Infer, SellingDomain } from 'agenthub/plugin'
import type { listInput } from './schemas.ts'
import { readSitemaps, type SitemapPage } from './sitemap.ts'

export interface SalesListDeps {
  readonly database: Database
  readonly host: Pick<Host, 'http'>
  readonly domains: Pick<Domains, 'mayRead'>
}

interface LastReading {
  readonly readAt: Date
  readonly problem: string | null
}

/** Age after which the sitemaps of a domain are read again, when they are asked for. */
const MAX_AGE_SECONDS = 3_600
const UNUSED_DAYS = 7
const LIMIT = 50
/** Rows read for one page of the list; fewer may be for sale. */
const SCANNED_MAX = 2_000

const FIND = `SELECT read_at AS "readAt", problem, read_at > now()
  - make_interval(secs => ${MAX_AGE_SECONDS}) AS "isFresh" FROM sitemap WHERE domain = $1`

/** Lists the pages that domains have for sale. */
export class SalesList {
  readonly #deps: SalesListDeps
  readonly #reading = new Map<string, Promise<LastReading>>()

  constructor(deps: SalesListDeps) {
    this.#deps = deps
  }

  /** Lists pages by URL, with the terms of now; a sitemap counts for an hour. */
  async list(domain: SellingDomain, { limit = LIMIT, cursor = '' }: Infer<typeof listInput>) {
    const { readAt, problem } = await this.#lastReading(domain)
    const { rows } = await this.#deps.database.query<SitemapPage>(
      `SELECT url, modified FROM sitemap_page WHERE domain = $1 AND url > $2
       ORDER BY url LIMIT ${SCANNED_MAX}`,
      [domain.id, cursor],
    )
    const data = []
    let last: string | undefined
    for (const { url, modified } of rows) {
      if (data.length >= limit) break
      last = url
      const page = domain.page(url)
      if (typeof page === 'string' || !(await this.#deps.domains.mayRead(url))) continue
      data.push({
        url,
        modified,
        price_microdollars: Number(page.rule.price),
        cached_price_microdollars: Number(page.rule.cachedPrice),
        max_age_seconds: page.rule.maxAgeSeconds,
        preview_characters: page.rule.previewCharacters,
      })
    }
    const isWhole = last === rows.at(-1)?.url && rows.length < SCANNED_MAX
    const next = isWhole ? null : (last ?? null)
    return { data, next_cursor: next, read_at: readAt.toISOString(), problem }
  }

  /** Deletes the lists that are no longer requested. */
  async prune(): Promise<void> {
    await this.#deps.database.query(
      `DELETE FROM sitemap WHERE read_at < now() - interval '${UNUSED_DAYS} days'`,
    )
  }

  async #lastReading(domain: SellingDomain): Promise<LastReading> {
    const { rows } = await this.#deps.database.query<LastReading & { isFresh: boolean }>(FIND, [
      domain.id,
    ])
    if (rows[0]?.isFresh) return rows[0]
    const pending = this.#reading.get(domain.id)
    if (pending) return pending
    const reading = this.#read(domain).finally(() => this.#reading.delete(domain.id))
    this.#reading.set(domain.id, reading)
    return reading
  }

  /** Reads the sitemaps for all who wait; pages of before are kept if none can be read. */
  async #read(domain: SellingDomain): Promise<LastReading> {
    const { pages, problem } = await readSitemaps(this.#deps.host.http, domain)
    return this.#deps.database.transaction(async (transaction) => {
      const { rows } = await transaction.query<LastReading>(
        `INSERT INTO sitemap (domain, problem) VALUES ($1, $2)
         ON CONFLICT (domain) DO UPDATE SET problem = $2, read_at = now()
         RETURNING read_at AS "readAt", problem`,
        [domain.id, problem],
      )
      if (pages.length === 0 && problem !== null) return rows[0]!
      await transaction.query('DELETE FROM sitemap_page WHERE domain = $1', [domain.id])
      await transaction.query(
        `INSERT INTO sitemap_page (domain, url, modified)
         SELECT $1, * FROM unnest($2::text[], $3::text[])`,
        [domain.id, pages.map(({ url }) => url), pages.map(({ modified }) => modified)],
      )
      return rows[0]!
    })
  }
}
