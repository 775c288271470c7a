import { createHash } from 'node:crypto'
import type { Database, PageRule, PricedPage } from 'agenthub/plugin'
import type { PageReading } from './page.ts'

/** A cached page: its key and age. */
export interface CachedPage {
  readonly key: Buffer
  readonly ageSeconds: number
}

/** Bytes of JSON: the largest article cached, and the size of the whole cache. */
const ARTICLE_BYTES_MAX = 2_097_152
const CACHE_BYTES_MAX = 2_147_483_648
const PRUNE_BATCH = 5_000

/** Cache of read pages in the plugin's own database. */
export class PageCache {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  /** Finds a cached page no older than its owner and the caller allow. */
  async find(
    domain: string,
    { url, rule }: PricedPage,
    maxAgeSeconds: number,
  ): Promise<CachedPage | undefined> {
    if (maxAgeSeconds === 0) return undefined
    const key = cacheKey(url, rule)
    const { rows } = await this.#database.query<{ age: number }>(
      `SELECT floor(extract(epoch FROM now() - fetched_at))::integer AS age FROM page
       WHERE domain = $1 AND key = $2 AND fetched_at > now() - make_interval(secs => $3)`,
      [domain, key, maxAgeSeconds],
    )
    return rows[0] && { key, ageSeconds: Math.max(0, rows[0].age) }
  }

  async read(domain: string, key: Buffer): Promise<PageReading | undefined> {
    const { rows } = await this.#database.query<{ article: PageReading }>(
      'SELECT article FROM page WHERE domain = $1 AND key = $2',
      [domain, key],
    )
    return rows[0]?.article
  }

  /** Stores a page for as long as its owner allows, unless it is too large. */
  async store(domain: string, { url, rule }: PricedPage, read: PageReading): Promise<void> {
    const text = JSON.stringify(read)
    const bytes = Buffer.byteLength(text)
    if (rule.maxAgeSeconds === 0 || bytes > ARTICLE_BYTES_MAX) return
    await this.#database.query(
      `INSERT INTO page (domain, key, article, bytes, expires_at)
       VALUES ($1, $2, $3, $4, now() + make_interval(secs => $5))
       ON CONFLICT (domain, key) DO UPDATE SET article = $3, bytes = $4, fetched_at = now(),
         expires_at = excluded.expires_at`,
      [domain, cacheKey(url, rule), text, bytes, rule.maxAgeSeconds],
    )
  }

  /** Deletes expired pages, and the oldest ones beyond the size limit. */
  async prune(allMax: number = CACHE_BYTES_MAX): Promise<void> {
    await this.#database.query('DELETE FROM page WHERE expires_at <= now()')
    await this.#database.query(
      `DELETE FROM page WHERE (domain, key) IN (
         SELECT domain, key FROM (
           SELECT domain, key, sum(bytes) OVER (ORDER BY fetched_at DESC, domain, key) AS total
           FROM page) p
         WHERE total > $1 LIMIT ${PRUNE_BATCH})`,
      [allMax],
    )
  }
}

/** Version of the form of articles; pages of older versions are read again. */
const FORM = 2

/** Returns the cache key: form, URL and reading options. */
const cacheKey = (url: string, { waitFor, exclude, fast }: PageRule): Buffer =>
  createHash('sha256')
    .update(JSON.stringify([FORM, url, waitFor, exclude, fast]))
    .digest()
