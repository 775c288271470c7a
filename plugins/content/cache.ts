import { hash } from 'node:crypto'
import type { Database, PageRule, PricedPage } from 'agenthub/plugin'
import { isDoubtful, type PageReading } from './page.ts'
import { type PageVersion, tagOf } from './versions.ts'

/** A cached page: its key, age and version. */
export interface CachedPage extends PageVersion {
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

  /** Finds a cached page no older than its owner allows. */
  async find(domain: string, { url, rule }: PricedPage): Promise<CachedPage | undefined> {
    if (rule.maxAgeSeconds === 0) return undefined
    const key = cacheKey(url, rule)
    const { rows } = await this.#database.query<PageVersion & { age: number }>(
      `SELECT floor(extract(epoch FROM now() - fetched_at))::integer AS age, etag,
         changed_at AS "changedAt" FROM page
       WHERE domain = $1 AND key = $2 AND fetched_at > now() - make_interval(secs => $3)`,
      [domain, key, rule.maxAgeSeconds],
    )
    if (!rows[0]) return undefined
    const { age, ...version } = rows[0]
    return { key, ageSeconds: Math.max(0, age), ...version }
  }

  async read(domain: string, key: Buffer): Promise<PageReading | undefined> {
    const { rows } = await this.#database.query<{ article: PageReading }>(
      'SELECT article FROM page WHERE domain = $1 AND key = $2',
      [domain, key],
    )
    return rows[0]?.article
  }

  /**
   * Stores a page for as long as its owner allows.
   * @returns its version; undefined if it may not be stored or is too large
   */
  async store(
    domain: string,
    { url, rule }: PricedPage,
    read: PageReading,
  ): Promise<PageVersion | undefined> {
    const text = JSON.stringify(read)
    const bytes = Buffer.byteLength(text)
    if (rule.maxAgeSeconds === 0 || bytes > ARTICLE_BYTES_MAX) return undefined
    const { rows } = await this.#database.query<PageVersion>(
      `INSERT INTO page (domain, key, article, bytes, expires_at, etag, doubtful)
       VALUES ($1, $2, $3, $4, now() + make_interval(secs => $5), $6, $7)
       ON CONFLICT (domain, key) DO UPDATE SET article = $3, bytes = $4, fetched_at = now(),
         expires_at = excluded.expires_at, etag = $6, doubtful = $7,
         changed_at = CASE WHEN page.etag = $6 THEN page.changed_at ELSE now() END
       RETURNING etag, changed_at AS "changedAt"`,
      [
        domain,
        cacheKey(url, rule),
        text,
        bytes,
        rule.maxAgeSeconds,
        tagOf(read.article),
        isDoubtful(read),
      ],
    )
    return rows[0]
  }

  /** Returns the share of a domain's cached pages whose text is doubtful; 1 without any. */
  async doubtfulShare(domain: string): Promise<number> {
    const { rows } = await this.#database.query<{ share: number | null }>(
      'SELECT avg(doubtful::integer)::float8 AS share FROM page WHERE domain = $1',
      [domain],
    )
    return rows[0]?.share ?? 1
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
const FORM = 3

/** Returns the cache key: form, URL and reading options. */
const cacheKey = (url: string, { waitFor, exclude, fast }: PageRule): Buffer =>
  hash('sha256', JSON.stringify([FORM, url, waitFor, exclude, fast]), 'buffer')
