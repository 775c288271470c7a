import { monthName, monthStart } from '../clock.ts'
import { derivedUuid } from '../ids.ts'
import type { AccountRef, Ledger } from '../ledger/ledger.ts'
import { freeCallsOf } from '../ledger/postings.ts'

const CACHE_MAX = 100_000

/**
 * Free calls are units in the ledger: granted once a month, held and used up like money. The grant
 * has one id for each principal, service and UTC month, so that processes which post it at the
 * same time post it once.
 */
export class FreeQuota {
  readonly #ledger: Ledger
  readonly #granted = new Map<string, AccountRef>()

  constructor(ledger: Ledger) {
    this.#ledger = ledger
  }

  /** The account that holds a principal's free calls of a service in the month of `now`. */
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
    // Reused with other terms: the quota of this month was granted before the service changed it.
    if (outcome === 'insufficient_funds') throw new Error(`free calls not granted: ${code}`)
    if (this.#granted.size >= CACHE_MAX) this.#granted.clear()
    this.#granted.set(code, account)
    return account
  }
}
