import { monthName, monthStart } from '../clock.ts'
import { derivedUuid } from '../ids.ts'
import type { AccountRef, Ledger } from '../ledger/ledger.ts'
import { freeCallsOf } from '../ledger/postings.ts'

const CACHE_MAX = 100_000

/**
 * Monthly free calls. They are units in the ledger, held and spent like money. The entry id of a
 * grant derives from principal, service and UTC month, so that concurrent processes grant once.
 */
export class FreeQuota {
  readonly #ledger: Ledger
  readonly #granted = new Map<string, AccountRef>()

  constructor(ledger: Ledger) {
    this.#ledger = ledger
  }

  /** Returns the account of a principal's free calls of a service in the UTC month of `now`. */
  async account(order: {
    readonly principal: string
    readonly shard: number
    readonly service: string
    readonly callsPerMonth: number
    readonly now: Date
  }): Promise<AccountRef> {
    const code = freeCallsOf(order.principal, order.service, monthName(order.now))
    const known = this.#granted.get(code)
    if (known) return known
    const account = await this.#ledger.open(code, 'FREECALL', { home: order.shard })
    const units = BigInt(order.callsPerMonth)
    const outcome = await this.#ledger.post(
      { type: 'units.granted', account: code, asset: 'FREECALL', units },
      { owner: account, id: derivedUuid(monthStart(order.now), code) },
    )
    // 'reused': this month's quota was granted before the service changed it.
    if (outcome === 'insufficient_funds') throw new Error(`free calls not granted: ${code}`)
    if (this.#granted.size >= CACHE_MAX) this.#granted.clear()
    this.#granted.set(code, account)
    return account
  }
}
