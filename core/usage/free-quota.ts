import { monthName, monthStart } from '../clock.ts'
import { derivedUuid } from '../ids.ts'
import type { Account } from '../ledger/events.ts'
import type { AccountRef, Ledger } from '../ledger/ledger.ts'
import { freeCallsOf, freeUnitsOf } from '../ledger/postings.ts'

const CACHE_MAX = 100_000

/** Free calls of a service, or free units of its metered endpoints. */
export interface MonthlyQuota {
  readonly perMonth: number
  /** Undefined: calls. */
  readonly unit: string | undefined
}

/** Code of the account of a principal's quota of a service in the UTC month of `now`. */
export function quotaAccount(
  principal: string,
  service: string,
  { unit }: Pick<MonthlyQuota, 'unit'>,
  now: Date,
): Account {
  const month = monthName(now)
  return unit === undefined
    ? freeCallsOf(principal, service, month)
    : freeUnitsOf(principal, service, month, unit)
}

/**
 * Monthly free calls and units. They are held and spent in the ledger like money. The entry id of a
 * grant derives from principal, service and UTC month, so that concurrent processes grant once.
 */
export class FreeQuota {
  readonly #ledger: Ledger
  readonly #granted = new Map<string, AccountRef>()

  constructor(ledger: Ledger) {
    this.#ledger = ledger
  }

  /** Returns the account of a quota in the UTC month of `now`, after granting it. */
  async account(order: {
    readonly principal: string
    readonly shard: number
    readonly service: string
    readonly quota: MonthlyQuota
    readonly now: Date
  }): Promise<AccountRef> {
    const code = quotaAccount(order.principal, order.service, order.quota, order.now)
    const known = this.#granted.get(code)
    if (known) return known
    const account = await this.#ledger.open(code, 'FREECALL', { home: order.shard })
    const units = BigInt(order.quota.perMonth)
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
