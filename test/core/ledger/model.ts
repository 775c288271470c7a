import type { Account, Asset, LedgerEvent, LedgerOutcome } from '../../../core/ledger/events.ts'

/** Operation on the ledger, by account codes. */
export type Command =
  | {
      readonly do: 'reserve'
      readonly call: string
      readonly owner: Account
      readonly asset: Asset
      readonly amount: bigint
      readonly payee: Account
      readonly bps: bigint
      readonly guards: readonly Account[]
      /** True if the hold can expire immediately. */
      readonly due: boolean
    }
  | {
      readonly do: 'settle' | 'release' | 'expire'
      readonly call: string
      readonly owner: Account
      /** For `settle`. */
      readonly charged: bigint
    }

type Reserve = Extract<Command, { do: 'reserve' }>
type Resolve = Exclude<Command, Reserve>

interface Hold {
  readonly terms: Reserve
  resolved?: Resolve
}

const HOLDS: Record<Asset, Account> = {
  USDC: 'liabilities:holds',
  FREECALL: 'liabilities:free-calls:holds',
  ALLOWANCE: 'liabilities:allowances:holds',
  GWEI: 'none',
}

/**
 * Reference model of the ledger: sequential commands on maps. Its arithmetic is independent of the
 * code, so that it can disagree.
 */
export class Model {
  readonly balances: Map<Account, bigint>
  readonly #holds = new Map<string, Hold>()
  readonly #posted = new Map<string, string>()
  /** Events that took effect, in order, as input for `postings`. */
  readonly events: { readonly id: string; readonly owner: Account; readonly event: LedgerEvent }[] =
    []

  constructor(balances: Iterable<readonly [Account, bigint]>) {
    this.balances = new Map(balances)
  }

  run(command: Command): LedgerOutcome {
    return command.do === 'reserve' ? this.#reserve(command) : this.#resolve(command)
  }

  /** Posts a single-step entry with the credit-positive legs given by the test. */
  post(
    event: LedgerEvent,
    { id, owner }: { id: string; owner: Account },
    legs: readonly (readonly [Account, bigint])[],
  ): LedgerOutcome {
    const key = `${owner} ${id}`
    const terms = [event.type, ...legs.flat()].join(' ')
    const known = this.#posted.get(key)
    if (known !== undefined) return known === terms ? 'replayed' : 'id_reused_with_other_terms'
    this.#posted.set(key, terms)
    for (const [account, amount] of legs) this.#add(account, amount)
    this.events.push({ id, owner, event })
    return 'applied'
  }

  #reserve(terms: Reserve): LedgerOutcome {
    const known = this.#holds.get(keyOf(terms))?.terms
    if (known) {
      const same =
        known.amount === terms.amount &&
        known.asset === terms.asset &&
        known.payee === terms.payee &&
        known.bps === terms.bps &&
        known.guards.join() === terms.guards.join()
      return same ? 'replayed' : 'id_reused_with_other_terms'
    }
    const { owner, asset, amount, guards } = terms
    const poor = [owner, ...guards].some((account) => this.balance(account) < amount)
    if (poor) return 'insufficient_funds'
    this.#holds.set(keyOf(terms), { terms })
    for (const account of [owner, ...guards]) this.#add(account, -amount)
    this.#add(HOLDS[asset], amount)
    for (const _ of guards) this.#add(HOLDS.ALLOWANCE, amount)
    this.#happened(terms, { type: 'call.reserved', ...eventTerms(terms) })
    return 'applied'
  }

  #resolve(command: Resolve): LedgerOutcome {
    const hold = this.#holds.get(keyOf(command))
    const done = hold?.resolved
    if (done) {
      const same =
        done.do === command.do && (done.do !== 'settle' || done.charged === command.charged)
      return same ? 'replayed' : 'id_reused_with_other_terms'
    }
    if (!hold || (command.do === 'expire' && !hold.terms.due)) return 'no_such_hold'
    const { terms } = hold
    const charged = command.do === 'settle' ? command.charged : 0n
    if (charged > terms.amount) return 'above_hold'
    hold.resolved = command
    const commission = (charged * terms.bps) / 10_000n
    this.#add(HOLDS[terms.asset], -terms.amount)
    this.#add(terms.owner, terms.amount - charged)
    this.#add(terms.payee, charged - commission)
    this.#add('income:commission', commission)
    for (const guard of terms.guards) {
      this.#add('liabilities:allowances:holds', -terms.amount)
      this.#add(guard, terms.amount - charged)
      this.#add('equity:allowances:used', charged)
    }
    const held = eventTerms(terms)
    if (command.do === 'settle') {
      this.#happened(terms, { type: 'call.settled', ...held, charged, commission })
    } else {
      const type = command.do === 'release' ? 'call.released' : 'call.expired'
      this.#happened(terms, { type, ...held })
    }
    return 'applied'
  }

  balance(account: Account): bigint {
    return this.balances.get(account) ?? 0n
  }

  #add(account: Account, amount: bigint): void {
    this.balances.set(account, this.balance(account) + amount)
  }

  #happened({ call, owner }: Reserve, event: LedgerEvent): void {
    this.events.push({ id: call, owner, event })
  }
}

/**
 * Order in which a batcher executes operations submitted together: by arrival, except that an
 * operation whose id is already in the batch waits for the next one.
 */
export function executionOrder<T extends { readonly call: string }>(commands: readonly T[]): T[] {
  const order: T[] = []
  for (let waiting = commands; waiting.length > 0; ) {
    const ids = new Set<string>()
    const later: T[] = []
    for (const command of waiting) {
      if (ids.has(command.call)) later.push(command)
      else {
        ids.add(command.call)
        order.push(command)
      }
    }
    waiting = later
  }
  return order
}

const keyOf = ({ call, owner }: { call: string; owner: Account }): string => `${owner} ${call}`

const eventTerms = ({ call, owner, asset, guards, payee, amount }: Reserve) =>
  ({ call, owner, asset, guards, payee, held: amount }) as const
