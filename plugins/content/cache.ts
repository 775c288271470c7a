import { createHash } from 'node:crypto'
import type { Database, PageRule, PricedPage } from 'agenthub/plugin'
import type { Read } from './page.ts'

/** A page that was kept: which one, and how old it is. */
export interface Kept {
  readonly key: Buffer
  readonly ageSeconds: number
}

/** The largest article that is kept, as JSON, and how much is kept of all together. */
const ARTICLE_MAX = 2_097_152
const ALL_MAX = 2_147_483_648
const PRUNED = 5_000

/** Pages that were read before, in the plugin's own database. */
export class PageCache {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  /** Whether a page is kept that is no older than its owner, and the caller, allow. */
  async peek(
    domain: string,
    { url, rule }: PricedPage,
    maxAgeSeconds: number,
  ): Promise<Kept | undefined> {
    if (maxAgeSeconds === 0) return undefined
    const key = keyOf(url, rule)
    const { rows } = await this.#database.query<{ age: number }>(
      `SELECT floor(extract(epoch FROM now() - fetched_at))::integer AS age FROM page
       WHERE domain = $1 AND key = $2 AND fetched_at > now() - make_interval(secs => $3)`,
      [domain, key, maxAgeSeconds],
    )
    return rows[0] && { key, ageSeconds: Math.max(0, rows[0].age) }
  }

  async read(domain: string, key: Buffer): Promise<Read | undefined> {
    const { rows } = await this.#database.query<{ article: Read }>(
      'SELECT article FROM page WHERE domain = $1 AND key = $2',
      [domain, key],
    )
    return rows[0]?.article
  }

  /** Keeps a page as long as its owner allows; one that is too large is not. */
  async keep(domain: string, { url, rule }: PricedPage, read: Read): Promise<void> {
    const text = JSON.stringify(read)
    const bytes = Buffer.byteLength(text)
    if (rule.maxAgeSeconds === 0 || bytes > ARTICLE_MAX) return
    await this.#database.query(
      `INSERT INTO page (domain, key, article, bytes, expires_at)
       VALUES ($1, $2, $3, $4, now() + make_interval(secs => $5))
       ON CONFLICT (domain, key) DO UPDATE SET article = $3, bytes = $4, fetched_at = now(),
         expires_at = excluded.expires_at`,
      [domain, keyOf(url, rule), text, bytes, rule.maxAgeSeconds],
    )
  }

  /** Drops what is too old, and of what is too much the oldest. */
  async prune(allMax: number = ALL_MAX): Promise<void> {
    await this.#database.query('DELETE FROM page WHERE expires_at <= now()')
    await this.#database.query(
      `DELETE FROM page WHERE (domain, key) IN (
         SELECT domain, key FROM (
           SELECT domain, key, sum(bytes) OVER (ORDER BY fetched_at DESC, domain, key) AS total
           FROM page) p
         WHERE total > $1 LIMIT ${PRUNED})`,
      [allMax],
    )
  }
}

/** The same address read in another way is another page. */
const keyOf = (url: string, { waitFor, exclude, fast }: PageRule): Buffer =>
  createHash('sha256')
    .update(JSON.stringify([url, waitFor, exclude, fast]))
    .digest()
