import type { Job } from './worker.ts'

/** One kind of load; all are measured in turns. */
export interface Cell {
  readonly name: string
  readonly processes: number
  readonly job: Job
}

/**
 * The number of connections at which the naive ledger is fastest; the others get at least as many.
 */
const CONNECTIONS = 20
const HUB_CONNECTIONS = 4
const CONCURRENT = [1, 64, 256, 1_024] as const
/** Above this concurrency, the naive ledger's callers only wait for each other. */
const NAIVE_MAX = 256
const SECONDS = { batch: 1.1, single: 0.4, naive: 1.3, insert: 0.8, 'insert 100': 0.8 } as const

function cell(
  what: Job['what'],
  accounts: Job['accounts'],
  processes: number,
  concurrency: number,
  connections = CONNECTIONS,
): Cell {
  const shared = Math.max(concurrency, processes)
  const job = { what, accounts, concurrency: shared, connections, seconds: SECONDS[what] }
  return { name: nameOf(what, accounts, processes, concurrency), processes, job }
}

/** Returns the lookup name of a cell. */
export const nameOf = (
  what: Job['what'],
  accounts: Job['accounts'],
  processes: number,
  concurrency: number,
): string => `${what} ${accounts} ${processes} ${concurrency}`

/** Compared loads are adjacent, so that they are measured under the same conditions. */
export const CELLS: readonly Cell[] = [
  ...CONCURRENT.flatMap((concurrency) => [
    cell('batch', 'uniform', 1, concurrency, HUB_CONNECTIONS),
    ...(concurrency > NAIVE_MAX ? [] : [cell('naive', 'uniform', 1, concurrency)]),
    cell('batch', 'hot', 1, concurrency, HUB_CONNECTIONS),
    cell('batch', 'uniform', 4, concurrency, 4 * HUB_CONNECTIONS),
    cell('batch', 'hot', 4, concurrency, 4 * HUB_CONNECTIONS),
    cell('single', 'uniform', 1, concurrency),
    cell('single', 'hot', 1, concurrency),
    cell('single', 'uniform', 4, concurrency),
    cell('single', 'hot', 4, concurrency),
  ]),
  cell('insert', 'uniform', 1, 1, 2),
  cell('insert', 'uniform', 1, 64, 64),
  cell('insert 100', 'uniform', 1, 1, 2),
]
