import { dayName, dayStart } from '../clock.ts'
import { Fault } from '../errors.ts'
import type { Caller, KeyLimits } from '../identity/keys.ts'
import { derivedUuid } from '../ids.ts'
import type { Account } from '../ledger/events.ts'
import type { AccountRef, Ledger } from '../ledger/ledger.ts'
import { allowanceOf } from '../ledger/postings.ts'

const CACHE_MAX = 100_000

/**
 * Spending limits of sub-keys. Allowances are units in the ledger, granted once per key in total or
 * per UTC day. A reserve debits the allowances of the key and of every key above it together with
 * the credits, all or none, so that concurrent calls cannot exceed a limit.
 */
export class Allowances {
  readonly #ledger: Ledger
  readonly #granted = new Map<string, AccountRef>()

  constructor(ledger: Ledger) {
    this.#ledger = ledger
  }

  /** Returns the allowance accounts that a call debits besides the credits. */
  async accountsFor({ limits, credits }: Caller, now: Date): Promise<AccountRef[]> {
    const { shard } = credits
    const grants = limits.flatMap(({ keyId, maxDay, maxTotal }) => [
      ...(maxTotal === null ? [] : [this.#grant(keyId, 'total', maxTotal, GRANT_EPOCH, shard)]),
      ...(maxDay === null ? [] : [this.#grant(keyId, dayName(now), maxDay, dayStart(now), shard)]),
    ])
    return Promise.all(grants)
  }

  /** Grants an allowance once: its entry id derives from the account, so processes agree on it. */
  async #grant(
    keyId: string,
    span: string,
    units: bigint,
    since: Date,
    home: number,
  ): Promise<AccountRef> {
    const code: Account = allowanceOf(keyId, span)
    const known = this.#granted.get(code)
    if (known) return known
    const account = await this.#ledger.open(code, 'ALLOWANCE', { home })
    const event = { type: 'units.granted', account: code, asset: 'ALLOWANCE', units } as const
    await this.#ledger.post(event, { owner: account, id: derivedUuid(since, code) })
    if (this.#granted.size >= CACHE_MAX) this.#granted.clear()
    this.#granted.set(code, account)
    return account
  }
}

/** Fixed time of total grants, so that their entry ids never change. */
const GRANT_EPOCH = new Date('2026-11-01T00:00:00Z')

/** @throws Fault `service_not_allowed` */
export function assertServiceAllowed(limits: readonly KeyLimits[], slug: string): void {
  for (const { keyId, services } of limits) {
    if (!services || services.includes(slug)) continue
    throw new Fault('service_not_allowed', `This key may not call "${slug}".`, {
      extras: { key_id: keyId, services },
    })
  }
}

/** Checks all but allowances. @throws Fault `service_not_allowed`, `key_limit_reached` */
export function assertKeyAllows(limits: readonly KeyLimits[], slug: string, price: bigint): void {
  assertServiceAllowed(limits, slug)
  for (const { keyId, maxCall } of limits) {
    if (maxCall !== null && price > maxCall) throw limitReached(keyId, 'call')
  }
}

/** @param scope per-call limit, or daily or total allowance */
export const limitReached = (keyId: string | undefined, scope: 'call' | 'allowance'): Fault =>
  new Fault('key_limit_reached', undefined, { extras: { key_id: keyId, scope } })
