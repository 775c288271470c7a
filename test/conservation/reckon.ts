import type { Entry, Facts } from './facts.ts'

/** Nothing, or that something is not as it must be. */
export const same = (what: string, is: unknown, must: unknown): string[] =>
  is === must ? [] : [`${what}: ${String(is)}, and not ${String(must)}`]

export const sum = (amounts: Iterable<bigint>): bigint =>
  [...amounts].reduce((all, each) => all + each, 0n)

export const lists = <K, V>(values: readonly V[], keyOf: (value: V) => K): Map<K, V[]> =>
  Map.groupBy(values, keyOf)

export const named = (entries: readonly Entry[], event: string): Entry[] =>
  entries.filter((entry) => entry.event === event)

/** What a call came to in the end: charged, less what was given back. */
export function netCharges({ books: { entries } }: Facts): ReadonlyMap<string, bigint> {
  const net = new Map<string, bigint>()
  const add = ({ owner, id }: Entry, amount: bigint): void => {
    net.set(`${owner} ${id}`, (net.get(`${owner} ${id}`) ?? 0n) + amount)
  }
  for (const entry of named(entries, 'call.settled')) add(entry, entry.amount)
  for (const entry of named(entries, 'external.refunded')) add(entry, -entry.amount)
  return net
}
