import { elapsedMs } from '../../clock.ts'
import type { Egress } from '../../egress/http.ts'
import { LoadingCache } from '../../runtime/cache.ts'
import type { Robots } from '../listings/probe/robots.ts'
import { isLicensed, type LicensedContent, parseLicenses } from './license-document.ts'

const CACHE = { ttlMs: 3_600_000, max: 1_000 } as const
const BYTES_MAX = 65_536
const LOAD_MS = 5_000
/** Time after which a document that could not be read is tried again. */
const RETRY_MS = 60_000
/** License documents that are read of one site, else its terms count as unreadable. */
const DOCUMENTS_MAX = 3

/** A license document; without contents if it could not be read. */
interface LicenseDocument {
  readonly contents: readonly LicensedContent[] | undefined
  /** Time of the read, by `elapsedMs`. */
  readonly at: number
}

/** Terms of sites that name them in their robots.txt (RSL 1.0), each document read once an hour. */
export class SiteLicenses {
  readonly #http: Pick<Egress, 'request'>
  readonly #robots: Pick<Robots, 'licenses'>
  readonly #documents: LoadingCache<string, LicenseDocument>

  constructor(http: Pick<Egress, 'request'>, robots: Pick<Robots, 'licenses'>) {
    this.#http = http
    this.#robots = robots
    this.#documents = new LoadingCache((key) => this.#load(key), CACHE)
  }

  /**
   * Returns true if the site lets anyone use a page as input of AI for nothing: also without
   * terms, but not if they cannot be read.
   * @param own license document that says what the hub sells, and so is not asked
   */
  async allowFreeUse(url: string, own: string): Promise<boolean> {
    const named = await this.#robots.licenses(url)
    const others = named.filter((each) => each !== own)
    if (others.length > DOCUMENTS_MAX) return false
    const documents = await Promise.all(others.map((each) => this.#find(each, url)))
    return documents.every(({ contents }) => contents !== undefined && isFree(contents, url))
  }

  async #find(license: string, url: string): Promise<LicenseDocument> {
    const key = `${new URL(url).origin} ${license}`
    const known = this.#documents.get(key)
    const isUsable = known?.contents || (known && elapsedMs() - known.at < RETRY_MS)
    return isUsable ? known : this.#documents.load(key)
  }

  async #load(key: string): Promise<LicenseDocument> {
    const [site = '', license = ''] = key.split(' ')
    const at = elapsedMs()
    try {
      const { status, body } = await this.#http.request({
        url: license,
        method: 'GET',
        headers: { accept: 'application/rsl+xml, application/xml;q=0.9, text/xml;q=0.9' },
        maxBytes: BYTES_MAX,
        timeouts: { totalMs: LOAD_MS },
      })
      if (status !== 200) return { contents: undefined, at }
      return { contents: parseLicenses(body.toString('utf8'), site), at }
    } catch {
      return { contents: undefined, at }
    }
  }
}

/** Returns true unless the most specific contents that match say otherwise. */
function isFree(contents: readonly LicensedContent[], url: string): boolean {
  const matching = contents.filter((content) => isLicensed(content, url))
  const longest = Math.max(...matching.map(({ length }) => length))
  return matching.every((each) => each.length < longest || each.isFree)
}
