import type { Pool } from 'pg'
import { Fault } from '../../errors.ts'
import type { KeyManager } from '../../identity/sub-keys.ts'
import { Failure, Refusal } from '../../plugin/call.ts'
import type { PageRefusal, PageRule } from '../../plugin/pages.ts'
import type { PagePreview, PreviewRequest } from '../../plugin/parts.ts'
import { RenderError } from '../../plugin/render-error.ts'
import type { Robots } from '../listings/probe/robots.ts'
import { matchPage, sortBySpecificity } from './match-page.ts'
import { readRules } from './rules.ts'
import { type Domain, findDomain } from './store.ts'

type ReadPage = (request: PreviewRequest) => Promise<PagePreview>

/** A page as its owner sees it: the rule that applies, what robots may do, and the extraction. */
export interface PreviewResult {
  readonly outcome: 'sold' | PageRefusal
  readonly rule: PageRule | undefined
  /** Undefined for pages that are not sold: they are not read. */
  readonly robotsAllowed: boolean | undefined
  readonly page: PagePreview | undefined
  /** Why callers would not get the page. */
  readonly problem: { readonly code: string; readonly detail: string } | undefined
}

const INTERVAL_SECONDS = 3
const DEADLINE_MS = 45_000

/** Previews of pages for their owners. The content gateway provides the function that reads. */
export class PagePreviews {
  readonly #pool: Pool
  readonly #robots: Pick<Robots, 'allows'>
  #read: ReadPage | undefined

  constructor(pool: Pool, robots: Pick<Robots, 'allows'>) {
    this.#pool = pool
    this.#robots = robots
  }

  provide(read: ReadPage): void {
    this.#read = read
  }

  /**
   * Reads a page as callers would, without charge.
   * @throws Fault `domain_not_found`, `domain_not_proven`, `preview_too_soon`, `service_not_found`
   */
  async preview(manager: KeyManager, id: string, url: string): Promise<PreviewResult> {
    const domain = await findDomain(this.#pool, manager, id)
    if (domain.state !== 'verified') throw new Fault('domain_not_proven')
    if (!this.#read) throw new Fault('service_not_found', 'This hub sells no pages.')
    const rules = sortBySpecificity(await readRules(this.#pool, id))
    const matchUrl = (text: string) => matchPage({ ...domain, rules }, text)
    const page = matchUrl(url)
    if (typeof page === 'string') {
      const none = { rule: undefined, robotsAllowed: undefined, page: undefined }
      return { outcome: page, ...none, problem: undefined }
    }
    await this.#countPreview(domain)
    const robotsAllowed = await this.#robots.allows(page.url)
    const request = {
      domain: {
        ...domain,
        slug: domain.slug!,
        example: url,
        minPrice: page.rule.price,
        maxPrice: page.rule.price,
        serviceUrl: '',
        rules: rules.filter(({ agents }) => agents.length === 0),
        page: matchUrl,
      },
      page,
      signal: AbortSignal.timeout(DEADLINE_MS),
    }
    const read = await this.#read(request).catch(toProblem)
    const known = { outcome: 'sold', rule: page.rule, robotsAllowed } as const
    return 'code' in read
      ? { ...known, page: undefined, problem: read }
      : { ...known, page: read, problem: undefined }
  }

  /** @throws Fault `preview_too_soon` */
  async #countPreview({ id, owner }: Domain): Promise<void> {
    const { rowCount } = await this.#pool.query(
      `UPDATE hub.domain SET previewed_at = now() WHERE id = $1 AND NOT EXISTS (
         SELECT FROM hub.domain WHERE owner = $2
           AND previewed_at > now() - interval '${INTERVAL_SECONDS} seconds')`,
      [id, owner],
    )
    if (rowCount !== 1) throw new Fault('preview_too_soon')
  }
}

/** @throws an error that is no reason why a caller would not get the page */
function toProblem(error: unknown): { readonly code: string; readonly detail: string } {
  if (error instanceof DOMException) return { code: 'timeout', detail: 'The page took too long.' }
  const isKnown =
    error instanceof Refusal || error instanceof Failure || error instanceof RenderError
  if (!isKnown) throw error
  return { code: error.code, detail: error.message }
}
