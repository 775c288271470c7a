import type { Pool } from 'pg'
import { elapsedMs } from '../core/clock.ts'
import type { Job } from './job.ts'

/** Minimum time between two records of a job that keeps succeeding. */
const RECORD_EVERY_MS = 10_000

/** Records in the database when jobs succeed and fail, for the metrics of all processes. */
export class JobRuns {
  readonly #pool: Pool
  /** When the last success of each job was recorded. */
  readonly #recordedAt = new Map<string, number>()

  constructor(pool: Pool) {
    this.#pool = pool
  }

  /** Never throws: the job itself reports an unreachable database. */
  async record(name: string, { everySeconds }: Job, startedAt: number, ok: boolean): Promise<void> {
    const now = elapsedMs()
    const recordedAt = this.#recordedAt.get(name)
    if (ok && recordedAt !== undefined && now - recordedAt < RECORD_EVERY_MS) return
    const values = [name, ok, Math.round(now - startedAt), Math.ceil(everySeconds)]
    await this.#pool.query('SELECT hub.record_job_run($1, $2, $3, $4)', values).then(
      () => (ok ? this.#recordedAt.set(name, now) : this.#recordedAt.delete(name)),
      () => {},
    )
  }
}
