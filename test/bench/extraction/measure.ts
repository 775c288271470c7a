import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import type { Match } from './metric.ts'

export type MatchesByKind = Readonly<Record<string, readonly Match[]>>

/** Names of variants, or of one extractor to compare with. */
export type Configuration = readonly string[]

/** Part of the work: each thread reads its pages once, in all configurations. */
export interface Job {
  readonly folder: string
  readonly thread: number
  readonly threads: number
  readonly configurations: readonly Configuration[]
}

/** Matches of the page at an index of its kind, one for each configuration. */
export interface PageMatches {
  readonly kind: string
  readonly at: number
  readonly matches: readonly Match[]
}

const THREADS = 2

/** Pages after which the progress is reported. */
const REPORT_EVERY = 100

/** Measures every page of a folder in each configuration. */
export async function measureAll(
  folder: string,
  configurations: readonly Configuration[],
): Promise<MatchesByKind[]> {
  const found = configurations.map((): Record<string, Match[]> => ({}))
  let pages = 0
  const add = ({ kind, at, matches }: PageMatches): void => {
    matches.forEach((match, index) => {
      found[index]![kind] ??= []
      found[index]![kind][at] = match
    })
    if (++pages % REPORT_EVERY === 0) {
      console.error('%d pages in %d configurations', pages, configurations.length)
    }
  }
  const workers = Array.from({ length: THREADS }, async (_, thread) => {
    const job: Job = { folder, thread, threads: THREADS, configurations }
    const worker = new Worker(new URL('./measure-worker.ts', import.meta.url), { workerData: job })
    worker.on('message', add)
    await once(worker, 'exit')
  })
  await Promise.all(workers)
  return found
}
