import type { Facts } from './facts.ts'
import { named, netCharges, sum } from './reckon.ts'
import type { Run } from './run.ts'

/** What happened, for a reader who wants to know whether it did. */
export function report({ seed, tally }: Run, facts: Facts): string {
  const lines = [`seed ${seed} (CONSERVATION_SEED)`, ...tally.lines(), `money: ${money(facts)}`]
  return lines.map((line) => `      ${line}\n`).join('')
}

function money(facts: Facts): string {
  const { entries, intents } = facts.books
  const total = (event: string): string => {
    const all = named(entries, event)
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
