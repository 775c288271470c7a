import { createHash } from 'node:crypto'
import { type JournalEntry, type Leg, legsOf } from '../entry.ts'
import type { PostingLine } from './export-line.ts'
import type { Findings } from './findings.ts'
import { EVENT_RULES, matches } from './rules.ts'

export const POSTINGS = 'the postings match the row'
export const BALANCED = 'every entry is balanced for each asset'
export const RULE = 'every entry follows the rule of its event'
export const OUTCOME = 'every outcome has an open reserve with the same terms'
export const ID = 'an id is posted once'
export const FLOOR = 'no liability is below zero'
export const CONTROL = 'the control accounts equal the sum of open holds'

const ASSETS: Readonly<Record<number, string>> = {
  1: 'USDC',
  2: 'GWEI',
  3: 'FREECALL',
  4: 'ALLOWANCE',
}
const HOLDS: Readonly<Record<string, string>> = { USDC: '2', FREECALL: '30', ALLOWANCE: '40' }
const CONTROLS: readonly string[] = Object.values(HOLDS)

export interface NamedAccount {
  readonly code: string
  readonly asset: string
}

/** Accounts by id, as declared by the export. */
export type Accounts = ReadonlyMap<string, NamedAccount>

/** Replays the entries of one shard: checks each, and tracks balances and open holds. */
export class ShardReplay {
  readonly #findings: Findings
  readonly #accounts: Accounts
  /** True if the export starts at the first entry, so that balances and holds are known. */
  readonly #startsAtFirst: boolean
  readonly #balances = new Map<string, bigint>()
  readonly #holds = new Map<string, JournalEntry>()
  readonly #ids = new Set<string>()
  #unknownReserves = 0n

  constructor(findings: Findings, accounts: Accounts, startsAtFirst: boolean) {
    this.#findings = findings
    this.#accounts = accounts
    this.#startsAtFirst = startsAtFirst
  }

  entry(row: JournalEntry, event: string, postings: readonly PostingLine[], name: string): void {
    const legs = isWellFormed(row) ? legsOf(row) : []
    if (!this.#samePostings(legs, postings)) this.#findings.add(POSTINGS, name)
    const unbalanced = this.#unbalanced(legs)
    if (unbalanced) this.#findings.add(BALANCED, `${name}: ${unbalanced}`)
    if (!this.#followsRule(row, event)) this.#findings.add(RULE, `${name}: ${event}`)
    this.#trackHold(row, name)
    for (const { account, amount } of legs) {
      this.#balances.set(account, (this.#balances.get(account) ?? 0n) + amount)
    }
    if (!this.#startsAtFirst) return
    for (const { account } of legs) {
      const balance = this.#balances.get(account)!
      const code = this.#accounts.get(account)?.code ?? ''
      if (balance < 0n && code.startsWith('liabilities:')) {
        this.#findings.add(FLOOR, `${name}: ${code} at ${balance}`)
      }
    }
  }

  /** Computes the same hash as `ledger.balances_hash`. */
  balancesHash(): Buffer {
    const ids = [...this.#balances.keys()].sort((a, b) => (BigInt(a) < BigInt(b) ? -1 : 1))
    const hash = createHash('sha256')
    for (const id of ids) {
      const { code = '', asset = '' } = this.#accounts.get(id) ?? {}
      hash.update(`${id} ${code} ${asset} ${this.#balances.get(id)}\n`)
    }
    return hash.digest()
  }

  end(shard: number): void {
    if (!this.#startsAtFirst) {
      if (this.#unknownReserves > 0n) {
        this.#findings.note(
          `shard ${shard}: ${this.#unknownReserves} outcomes belong to reserves before the export`,
        )
      }
      return
    }
    const holds = new Map(CONTROLS.map((id) => [id, 0n]))
    const add = (id: string, amount: bigint) => holds.set(id, (holds.get(id) ?? 0n) + amount)
    for (const { asset, amount, guards } of this.#holds.values()) {
      add(HOLDS[ASSETS[asset] ?? ''] ?? 'unknown', amount)
      if (guards) add(HOLDS['ALLOWANCE']!, amount * BigInt(guards.length))
    }
    for (const [id, amount] of holds) {
      const balance = this.#balances.get(id) ?? 0n
      if (balance === amount) continue
      this.#findings.add(
        CONTROL,
        `shard ${shard} account ${id}: balance ${balance}, open holds ${amount}`,
      )
    }
  }

  #samePostings(legs: readonly Leg[], postings: readonly PostingLine[]): boolean {
    return (
      legs.length === postings.length &&
      legs.every((leg, i) => {
        const { account, asset, amount } = postings[i]!
        const known = this.#accounts.get(leg.account)
        return known?.code === account && known.asset === asset && leg.amount === amount
      })
    )
  }

  #unbalanced(legs: readonly Leg[]): string | undefined {
    const totals = new Map<string, bigint>()
    for (const { account, amount } of legs) {
      const asset = this.#accounts.get(account)?.asset ?? `of unknown account ${account}`
      totals.set(asset, (totals.get(asset) ?? 0n) + amount)
    }
    for (const [asset, total] of totals) {
      if (total !== 0n || asset.startsWith('of ')) return `${total} ${asset}`
    }
    return undefined
  }

  #followsRule(row: JournalEntry, event: string): boolean {
    const rule = EVENT_RULES[row.kind]
    if (rule?.event !== event || rule.phase !== row.phase) return false
    const { amount, rest, fee, bps, accounts, amounts } = row
    if (amount < 0n || rest < 0n || fee < 0n || fee > amount) return false
    const { debits, credits, needs } = rule
    if (debits === undefined || credits === undefined) {
      if (accounts !== null || amounts !== null) return false
      if (row.phase === 1) {
        return amount > 0n && rest === 0n && fee === 0n && row.expiresAt !== null
      }
      const exact = fee === (amount * BigInt(bps)) / 10_000n
      return exact && amount + rest > 0n && (row.kind === 2 || amount === 0n)
    }
    if (!accounts || !amounts || accounts.length !== amounts.length) return false
    const [min, max] = debits === '' ? [0, 0] : [2, 8]
    if (accounts.length < min || accounts.length > max) return false
    if (row.effectiveAt !== null && row.effectiveAt > row.at) return false
    const allowed = accounts.every((id, i) => {
      const code = this.#accounts.get(id)?.code ?? ''
      const leg = amounts[i]!
      return leg !== 0n && !CONTROLS.includes(id) && matches(code, leg < 0n ? debits : credits)
    })
    return allowed && hasText(row.meta, needs)
  }

  #trackHold(row: JournalEntry, name: string): void {
    const key = `${row.owner}/${row.id}`
    if (row.phase === 1) {
      if (this.#holds.has(key)) this.#findings.add(ID, name)
      this.#holds.set(key, row)
    } else if (row.phase === 2) {
      const reserve = this.#holds.get(key)
      this.#holds.delete(key)
      if (reserve ? !sameTerms(reserve, row) : this.#startsAtFirst)
        this.#findings.add(OUTCOME, name)
      else if (!reserve) this.#unknownReserves++
    } else {
      const entry = `${key}/${row.phase}`
      if (this.#ids.has(entry)) this.#findings.add(ID, name)
      this.#ids.add(entry)
    }
  }
}

/** Returns true if legs can be computed from the row. */
const isWellFormed = ({ accounts, amounts, asset }: JournalEntry): boolean =>
  accounts && amounts
    ? accounts.length === amounts.length
    : accounts === amounts && HOLDS[ASSETS[asset] ?? ''] !== undefined

const sameTerms = (reserve: JournalEntry, outcome: JournalEntry): boolean =>
  outcome.amount + outcome.rest === reserve.amount &&
  outcome.payee === reserve.payee &&
  outcome.bps === reserve.bps &&
  outcome.asset === reserve.asset &&
  outcome.endpoint === reserve.endpoint &&
  outcome.priceVersion === reserve.priceVersion &&
  String(outcome.guards) === String(reserve.guards)

/** Returns true if `meta` has a non-empty value for each required member. */
function hasText(meta: string | null, needs: readonly string[]): boolean {
  if (needs.length === 0) return true
  try {
    const members = JSON.parse(meta ?? 'null') as Readonly<Record<string, unknown>> | null
    return needs.every((need) => {
      const text = members?.[need] ?? ''
      return typeof text !== 'string' || text.trim() !== ''
    })
  } catch {
    return false
  }
}
