import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { Checkpoint } from './checkpoint.ts'
import type { Match } from './metric.ts'
import { type Configuration, keyOf, type PageMatches } from './page-matches.ts'

export type MatchesByKind = Readonly<Record<string, readonly Match[]>>

/** Part of the work: each thread reads its pages once, in all configurations. */
export interface Job {
  readonly folder: string
  readonly thread: number
  readonly threads: number
  readonly configurations: readonly Configuration[]
  /** Keys of pages that an earlier run measured. */
  readonly measured: ReadonlySet<string>
}

const THREADS = 2

/** Pages after which the progress is reported. */
const REPORT_EVERY = 100

/**
 * Measures every page of a folder in each configuration.
 * @param directory holds the pages that were measured, for a run that is started again
 */
export async function measureAll(
  folder: string,
  configurations: readonly Configuration[],
  directory?: string,
): Promise<MatchesByKind[]> {
  const found = configurations.map((): Record<string, Match[]> => ({}))
  const checkpoint = directory ? new Checkpoint(directory, folder, configurations) : undefined
  const measured = new Set<string>()
  const add = (page: PageMatches): void => {
    page.matches.forEach((match, index) => {
      found[index]![page.kind] ??= []
      found[index]![page.kind]![page.at] = match
    })
    measured.add(keyOf(page))
    if (measured.size % REPORT_EVERY === 0) {
      console.error('%d pages in %d configurations', measured.size, configurations.length)
    }
  }
  checkpoint?.pages.forEach(add)
  const known = new Set(measured)
  const workers = Array.from({ length: THREADS }, async (_, thread) => {
    const job: Job = { folder, thread, threads: THREADS, configurations, measured: known }
    const worker = new Worker(new URL('./measure-worker.ts', import.meta.url), { workerData: job })
    worker.on('message', (page: PageMatches) => {
      checkpoint?.add(page)
      add(page)
    })
    await once(worker, 'exit')
  })
  await Promise.all(workers)
  return found
}
