import type { Job } from './worker.ts'

/** One kind of load of the benchmark; all are measured in turns. */
export interface Cell {
  readonly name: string
  readonly processes: number
  readonly job: Job
}

/** As many as the naive ledger does best with, and a function per call gets no fewer. */
const CONNECTIONS = 20
const HUB_CONNECTIONS = 4
const CONCURRENT = [1, 64, 256, 1_024] as const
const SECONDS = { batch: 1.2, single: 0.5, naive: 1.5, insert: 0.8, 'insert 100': 0.8 } as const

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

/** How a cell is called, for those who look one up. */
export const nameOf = (
  what: Job['what'],
  accounts: Job['accounts'],
  processes: number,
  concurrency: number,
): string => `${what} ${accounts} ${processes} ${concurrency}`

export const CELLS: readonly Cell[] = [
  ...CONCURRENT.flatMap((concurrency) =>
    ([1, 4] as const).flatMap((processes) =>
      (['uniform', 'hot'] as const).flatMap((accounts) => [
        cell('batch', accounts, processes, concurrency, HUB_CONNECTIONS * processes),
        cell('single', accounts, processes, concurrency),
      ]),
    ),
  ),
  ...[1, 64, 256].map((concurrency) => cell('naive', 'uniform', 1, concurrency)),
  cell('insert', 'uniform', 1, 1, 2),
  cell('insert', 'uniform', 1, 64, 64),
  cell('insert 100', 'uniform', 1, 1, 2),
]
