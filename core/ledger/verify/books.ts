import { createHash } from 'node:crypto'
import { type JournalEntry, type Leg, legsOf } from '../entry.ts'
import type { Findings } from './findings.ts'
import type { PostingLine } from './line.ts'
import { fits, RULES } from './rules.ts'

export const POSTINGS = 'the postings follow from the row'
export const BALANCED = 'every entry is balanced for each asset'
export const RULE = 'every entry follows the rule of its event'
export const OUTCOME = 'every outcome has its open reserve, and the same terms'
export const ONCE = 'an id is booked once'
export const FLOOR = 'what the house owes is never below zero'
export const CONTROL = 'the control accounts hold what open holds hold'

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

/** Accounts by their ids, as the export declares them. */
export type Accounts = ReadonlyMap<string, NamedAccount>

/** Balances and open holds of one shard, as its entries come. */
export class Books {
  readonly #findings: Findings
  readonly #accounts: Accounts
  /** Whether everything from the first entry on is there: balances and holds are known. */
  readonly #whole: boolean
  readonly #balances = new Map<string, bigint>()
  readonly #holds = new Map<string, JournalEntry>()
  readonly #ids = new Set<string>()
  #strangers = 0n

  constructor(findings: Findings, accounts: Accounts, whole: boolean) {
    this.#findings = findings
    this.#accounts = accounts
    this.#whole = whole
  }

  entry(row: JournalEntry, event: string, postings: readonly PostingLine[], name: string): void {
    const legs = isWellFormed(row) ? legsOf(row) : []
    if (!this.#samePostings(legs, postings)) this.#findings.add(POSTINGS, name)
    const unbalanced = this.#unbalanced(legs)
    if (unbalanced) this.#findings.add(BALANCED, `${name}: ${unbalanced}`)
    if (!this.#lawful(row, event)) this.#findings.add(RULE, `${name}: ${event}`)
    this.#hold(row, name)
    for (const { account, amount } of legs) {
      this.#balances.set(account, (this.#balances.get(account) ?? 0n) + amount)
    }
    if (!this.#whole) return
    for (const { account } of legs) {
      const balance = this.#balances.get(account)!
      const code = this.#accounts.get(account)?.code ?? ''
      if (balance < 0n && code.startsWith('liabilities:')) {
        this.#findings.add(FLOOR, `${name}: ${code} at ${balance}`)
      }
    }
  }

  /** As `ledger.balances_hash` has it. */
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
    if (!this.#whole) {
      if (this.#strangers > 0n) {
        this.#findings.note(
          `shard ${shard}: ${this.#strangers} outcomes have their reserve before the export`,
        )
      }
      return
    }
    const held = new Map(CONTROLS.map((id) => [id, 0n]))
    const add = (id: string, amount: bigint) => held.set(id, (held.get(id) ?? 0n) + amount)
    for (const { asset, amount, guards } of this.#holds.values()) {
      add(HOLDS[ASSETS[asset] ?? ''] ?? 'unknown', amount)
      if (guards) add(HOLDS['ALLOWANCE']!, amount * BigInt(guards.length))
    }
    for (const [id, amount] of held) {
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

  #lawful(row: JournalEntry, event: string): boolean {
    const rule = RULES[row.kind]
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
    if (accounts.length < 2 || accounts.length > 8) return false
    if (row.effectiveAt !== null && row.effectiveAt > row.at) return false
    const allowed = accounts.every((id, i) => {
      const code = this.#accounts.get(id)?.code ?? ''
      const leg = amounts[i]!
      return leg !== 0n && !CONTROLS.includes(id) && fits(code, leg < 0n ? debits : credits)
    })
    return allowed && tells(row.meta, needs)
  }

  #hold(row: JournalEntry, name: string): void {
    const key = `${row.owner}/${row.id}`
    if (row.phase === 1) {
      if (this.#holds.has(key)) this.#findings.add(ONCE, name)
      this.#holds.set(key, row)
    } else if (row.phase === 2) {
      const reserve = this.#holds.get(key)
      this.#holds.delete(key)
      if (reserve ? !sameTerms(reserve, row) : this.#whole) this.#findings.add(OUTCOME, name)
      else if (!reserve) this.#strangers++
    } else {
      const entry = `${key}/${row.phase}`
      if (this.#ids.has(entry)) this.#findings.add(ONCE, name)
      this.#ids.add(entry)
    }
  }
}

/** Whether it has legs at all. */
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

/** Whether `meta` has text for each of these. */
function tells(meta: string | null, needs: readonly string[]): boolean {
  if (needs.length === 0) return true
  try {
    const told = JSON.parse(meta ?? 'null') as Readonly<Record<string, unknown>> | null
    return needs.every((need) => {
      const text = told?.[need] ?? ''
      return typeof text !== 'string' || text.trim() !== ''
    })
  } catch {
    return false
  }
}
