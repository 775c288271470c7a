import { entriesOf, netCharges, sum } from './checker-helpers.ts'
import type { Facts } from './facts.ts'
import type { Run } from './run.ts'

/** Formats the counters and totals of a run for its log. */
export function report({ seed, counters }: Run, facts: Facts): string {
  const lines = [`seed ${seed} (CONSERVATION_SEED)`, ...counters.lines(), `money: ${money(facts)}`]
  return lines.map((line) => `      ${line}\n`).join('')
}

function money(facts: Facts): string {
  const { entries, intents } = facts.database
  const total = (event: string): string => {
    const all = entriesOf(entries, event)
    return `${all.length} × ${event} (${sum(all.map(({ amount }) => amount))})`
  }
  const events = ['credits.purchased', 'call.sold', 'external.confirmed', 'external.refunded']
  const charged = [...netCharges(facts).values()].filter((amount) => amount > 0n)
  const unused = intents.filter(({ state }) => state === 'unused').length
  return [
    ...events.map(total),
    `${charged.length} calls charged to credits (${sum(charged)})`,
    `${unused} signatures that no seller used`,
  ].join(', ')
}
