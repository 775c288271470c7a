import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import type { Sample } from '../load.ts'
import type { Job } from './worker.ts'

/** Processes that load the same database concurrently. */
export interface WorkerPool {
  /** Distributes the loops and connections of a job over `processes` processes. */
  run(job: Job, processes: number): Promise<Sample[]>
  stop(): void
}

export function startWorkerPool(size: number, url: string): WorkerPool {
  const workers = Array.from({ length: size }, () =>
    fork(new URL('./worker.ts', import.meta.url), [url]),
  )
  return {
    run(job, processes) {
      const part: Job = {
        ...job,
        concurrency: job.concurrency / processes,
        connections: Math.max(job.connections / processes, 2),
      }
      return Promise.all(workers.slice(0, processes).map((worker) => ask(worker, part)))
    },
    stop() {
      for (const worker of workers) worker.disconnect()
    },
  }
}

async function ask(worker: ChildProcess, job: Job): Promise<Sample> {
  const ended = new AbortController()
  const dead = once(worker, 'exit', { signal: ended.signal }).then(() => {
    throw new Error(`a process of the benchmark ended during ${job.what}`)
  })
  const answer = once(worker, 'message', { signal: ended.signal })
  worker.send(job)
  try {
    const [taken] = (await Promise.race([answer, dead])) as [Sample]
    return taken
  } finally {
    dead.catch(() => {})
    answer.catch(() => {})
    ended.abort()
  }
}
