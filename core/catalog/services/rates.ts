import type { Pool } from 'pg'
import { elapsedMs } from '../../clock.ts'
import type { AnyService } from '../../plugin/index.ts'
import { commissionBps } from '../../usage/commission.ts'
import type { Routes } from './families.ts'
import type { Terms } from './publish.ts'

/** A new rate is followed within this time on every process. */
const CACHE_MS = 1_000

/** Whether declared services are still sold at the commission that is agreed on. */
export class Rates {
  readonly #pool: Pool
  readonly #terms: Terms
  #at = elapsedMs()

  constructor(pool: Pool, terms: Terms) {
    this.#pool = pool
    this.#terms = terms
  }

  /** Once a second, for whoever calls anything. */
  isDue(): boolean {
    return elapsedMs() - this.#at >= CACHE_MS
  }

  /** Services that are sold at another rate than the one in force. */
  async outdated(sold: ReadonlyMap<string, Routes>): Promise<readonly AnyService[]> {
    const at = elapsedMs()
    const { passThrough, defaultCommissionBps } = this.#terms
    const { rows } = await this.#pool.query<{
      slug: string
      provider: string
      rule: number | null
    }>({
      name: 'catalog.rates',
      text: `SELECT slug, provider, hub.commission_of(provider, slug) AS rule FROM hub.service
        WHERE family IS NULL AND state <> 'retired'`,
    })
    this.#at = at
    return rows.flatMap(({ slug, provider, rule }) => {
      const [first, ...others] = sold.get(slug)?.values() ?? []
      if (!first || passThrough.has(slug)) return []
      const bps = commissionBps(provider, rule, defaultCommissionBps)
      const isOther = [first, ...others].some((offering) => offering.commissionBps !== bps)
      return isOther ? [first.service] : []
    })
  }
}
