import { split } from '../../../core/money.ts'
import { type BankState, BPS, type Entry, isDone, type StepRecord } from './bank.ts'

/** Maximum number of examples listed for each kind of violation. */
const EXAMPLES = 3

/**
 * Returns the violations in a bank's entries, given the responses to its callers. Empty if every
 * acknowledged step was posted once with its terms, no refused step was posted, nothing unrequested
 * was posted, and the total is conserved.
 */
export function violations(records: readonly StepRecord[], state: BankState): string[] {
  const found = new Findings()
  const byKey = new Map<string, Entry[]>()
  for (const entry of state.entries) {
    const key = keyOf(entry)
    const known = byKey.get(key)
    if (known) known.push(entry)
    else byKey.set(key, [entry])
  }
  checkPromises(records, byKey, found)
  checkEntries(records, byKey, found)
  checkBalances(state, found)
  for (const finding of state.findings) found.add('reported by the bank itself', finding)
  return found.list()
}

class Findings {
  readonly #kinds = new Map<string, string[]>()

  add(kind: string, example: string): void {
    const examples = this.#kinds.get(kind)
    if (examples) examples.push(example)
    else this.#kinds.set(kind, [example])
  }

  list(): string[] {
    return [...this.#kinds].map(([kind, examples]) => {
      const text = examples.slice(0, EXAMPLES).join('; ')
      return `${kind} (${examples.length}): ${text}`
    })
  }
}

type Phase = 'fund' | 'reserve' | 'end'
type Journal = ReadonlyMap<string, readonly Entry[]>

const phaseOf = (what: Entry['what']): Phase =>
  what === 'fund' || what === 'reserve' ? what : 'end'
const keyOf = ({ id, what }: Pick<Entry, 'id' | 'what'>): string => `${id} ${phaseOf(what)}`
const textOf = ({ what, id, agent, amount }: Entry): string =>
  `${what} ${id} of ${amount} by agent ${agent}`

function checkPromises(records: readonly StepRecord[], journal: Journal, found: Findings): void {
  for (const each of records) {
    const { step, applied, refused, lost } = each
    const posted = journal.get(keyOf(step)) ?? []
    const asRequested = posted.filter((entry) => isSame(entry, step))
    if (isDone(each) && asRequested.length === 0) {
      if (posted.length === 0) found.add('acknowledged and lost', textOf(step))
      else found.add('acknowledged with other terms', `${textOf(step)}, ${textOf(posted[0]!)}`)
    }
    if (applied > 1) found.add('applied more than once', `${textOf(step)}: ${applied} times`)
    if (!isDone(each) && lost === 0 && asRequested.length > 0) {
      found.add('refused and posted', `${textOf(step)}: ${refused.join()}`)
    }
  }
}

function checkEntries(records: readonly StepRecord[], journal: Journal, found: Findings): void {
  const steps = new Map(records.map(({ step }) => [`${step.id} ${step.what}`, step]))
  const failed = records.filter(({ step, lost }) => step.what === 'reserve' && lost > 0)
  const failedIds = new Set(failed.map(({ step }) => step.id))
  for (const [key, entries] of journal) {
    const entry = entries[0]!
    if (entries.length > 1) found.add('posted more than once', entries.map(textOf).join(', '))
    if (phaseOf(entry.what) === 'reserve' && !journal.has(`${entry.id} end`)) {
      found.add('a hold without outcome', textOf(entry))
    }
    if (entry.what === 'expire') {
      if (!journal.has(`${entry.id} reserve`)) found.add('expired but never held', key)
      continue
    }
    // The ledger itself releases a hold whose reserve it had reported as failed.
    if (entry.what === 'release' && failedIds.has(entry.id)) continue
    const step = steps.get(`${entry.id} ${entry.what}`)
    if (!step || !isSame(entry, step)) found.add('never requested', textOf(entry))
  }
}

const isSame = (a: Entry, b: Entry): boolean =>
  a.what === b.what && a.agent === b.agent && a.amount === b.amount

/** Compares the sums of the entries with the balances. */
function checkBalances({ entries, agents, ...sums }: BankState, found: Findings): void {
  const held = new Map(
    entries.filter(({ what }) => what === 'reserve').map((e) => [e.id, e.amount]),
  )
  const own = agents.map(() => 0n)
  let [funded, holds, providers, commission] = [0n, 0n, 0n, 0n]
  for (const { what, id, agent, amount } of entries) {
    if (what === 'fund') {
      own[agent]! += amount
      funded += amount
    } else if (what === 'reserve') {
      own[agent]! -= amount
      holds += amount
    } else {
      const parts = split(amount, BPS)
      own[agent]! += (held.get(id) ?? 0n) - amount
      holds -= held.get(id) ?? 0n
      providers += parts.share
      commission += parts.commission
    }
  }
  const compare = (name: string, is: bigint, sum: bigint): void => {
    if (is !== sum)
      found.add('a balance that its entries do not explain', `${name} ${is}, not ${sum}`)
  }
  agents.forEach((balance, agent) => {
    compare(`agent ${agent}`, balance, own[agent]!)
    if (balance < 0n) found.add('below zero', `agent ${agent}: ${balance}`)
  })
  compare('holds', sums.holds, holds)
  compare('providers', sums.providers, providers)
  compare('commission', sums.commission, commission)
  if (sums.holds !== 0n) found.add('held after expiry', String(sums.holds))
  const total = agents.reduce((sum, balance) => sum + balance, 0n)
  const there = total + sums.holds + sums.providers + sums.commission
  if (there !== funded) found.add('money is not conserved', `${there} of ${funded}`)
}
