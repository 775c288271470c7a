import type { Entry, Facts } from './facts.ts'

/** Returns a finding if the values differ, otherwise an empty list. */
export const mismatch = (what: string, actual: unknown, expected: unknown): string[] =>
  actual === expected ? [] : [`${what}: ${String(actual)}, expected ${String(expected)}`]

export const sum = (amounts: Iterable<bigint>): bigint =>
  [...amounts].reduce((all, each) => all + each, 0n)

export const groupBy = <K, V>(values: readonly V[], keyOf: (value: V) => K): Map<K, V[]> =>
  Map.groupBy(values, keyOf)

export const entriesOf = (entries: readonly Entry[], event: string): Entry[] =>
  entries.filter((entry) => entry.event === event)

/** Returns the net charge of each call: charged minus refunded, keyed by account and call id. */
export function netCharges({ database: { entries } }: Facts): ReadonlyMap<string, bigint> {
  const net = new Map<string, bigint>()
  const add = ({ owner, id }: Entry, amount: bigint): void => {
    net.set(`${owner} ${id}`, (net.get(`${owner} ${id}`) ?? 0n) + amount)
  }
  for (const entry of entriesOf(entries, 'call.settled')) add(entry, entry.amount)
  for (const event of ['external.refunded', 'call.reversed']) {
    for (const entry of entriesOf(entries, event)) add(entry, -entry.amount)
  }
  return net
}
