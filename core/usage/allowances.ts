import { dayName } from '../clock.ts'
import { Fault } from '../errors.ts'
import type { Caller, KeyLimits } from '../identity/keys.ts'
import { derivedUuid } from '../ids.ts'
import type { Account } from '../ledger/events.ts'
import type { AccountRef, Ledger } from '../ledger/ledger.ts'
import { allowanceOf } from '../ledger/postings.ts'
import { json } from '../money.ts'
import { type AllowanceSpan, type LimitDeps, withdrawExcess } from './allowance-excess.ts'

const CACHE_MAX = 100_000
const NO_ALLOWANCES: readonly AccountRef[] = []

/**
 * Spending limits of sub-keys. Allowances are units in the ledger, granted once per key in total or
 * per UTC day; `changeKeyLimits` adjusts them. A reserve debits the allowances of the key and of
 * every key above it together with the credits, all or none, so that concurrent calls cannot exceed
 * a limit.
 */
export class Allowances {
  readonly #deps: LimitDeps
  readonly #granted = new Map<string, AccountRef>()

  constructor(deps: LimitDeps) {
    this.#deps = deps
  }

  /** Returns the allowance accounts that a call debits besides the credits. */
  accountsFor(caller: Caller, now: Date): readonly AccountRef[] | Promise<readonly AccountRef[]> {
    return caller.limits.length === 0 ? NO_ALLOWANCES : this.#grantedTo(caller, now)
  }

  async #grantedTo({ limits, credits }: Caller, now: Date): Promise<readonly AccountRef[]> {
    const { shard } = credits
    for (const { keyId, hasExcess } of limits) {
      if (hasExcess) await withdrawExcess(this.#deps, keyId, shard)
    }
    const grants = limits.flatMap(({ keyId, maxDay, maxTotal }) => [
      ...(maxTotal === null ? [] : [this.#grant({ keyId, span: 'total' }, maxTotal, shard)]),
      ...(maxDay === null ? [] : [this.#grant({ keyId, span: dayName(now) }, maxDay, shard)]),
    ])
    return Promise.all(grants)
  }

  async #grant(of: AllowanceSpan, units: bigint, home: number): Promise<AccountRef> {
    const code: Account = allowanceOf(of.keyId, of.span)
    const known = this.#granted.get(code)
    if (known) return known
    const account = await grantAllowance(this.#deps.ledger, of, units, home)
    if (this.#granted.size >= CACHE_MAX) this.#granted.clear()
    this.#granted.set(code, account)
    return account
  }
}

/** Fixed time of total grants, so that their entry ids never change. */
const GRANT_EPOCH = new Date('2026-11-01T00:00:00Z')

/**
 * Grants an allowance once: its entry id derives from the account, so that processes agree on it.
 * @param home shard of the key's credits
 */
export async function grantAllowance(
  ledger: Ledger,
  { keyId, span }: AllowanceSpan,
  units: bigint,
  home: number,
): Promise<AccountRef> {
  const code: Account = allowanceOf(keyId, span)
  const account = await ledger.open(code, 'ALLOWANCE', { home })
  const event = { type: 'units.granted', account: code, asset: 'ALLOWANCE', units } as const
  const since = span === 'total' ? GRANT_EPOCH : new Date(`${span}T00:00:00Z`)
  await ledger.post(event, { owner: account, id: derivedUuid(since, code) })
  return account
}

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
    if (maxCall !== null && price > maxCall) {
      throw limitReached({ keyId, scope: 'call', cap: maxCall }, price)
    }
  }
}

/** Limit of a sub-key, or of a key above it, in microdollars. */
export interface ReachedLimit {
  readonly keyId: string
  readonly scope: 'call' | 'day' | 'total'
  readonly cap: bigint
}

const LIMIT_TEXTS = {
  call: ['per call', 'Choose a cheaper call, or use another key.'],
  day: ['per UTC day', 'Wait until resets_at, or use another key.'],
  total: ['in total', 'Use another key: this limit does not reset.'],
} as const

/** Builds the fault of a reached limit. @param resetsAt time at which a daily limit resets */
export function limitReached(
  { keyId, scope, cap }: ReachedLimit,
  price: bigint,
  resetsAt?: Date,
): Fault {
  const [span, advice] = LIMIT_TEXTS[scope]
  const limit = `${keyId} may spend ${cap} microdollars ${span}`
  const detail = `This call costs ${price} microdollars; ${limit}.`
  const amounts = { limit_microdollars: json(cap), price_microdollars: json(price) }
  const reset = resetsAt && { resets_at: resetsAt.toISOString() }
  const extras = { key_id: keyId, scope, ...amounts, ...reset }
  return new Fault('key_limit_reached', detail, { extras, advice })
}
