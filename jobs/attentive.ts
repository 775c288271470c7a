import { elapsedMs, pause } from '../core/clock.ts'

/** One run lasts so long, well below the deadline of a job. */
const RUN_MS = 240_000
/** Between two looks at a queue that is empty. */
const LOOK_MS = 250

/**
 * Works a queue of our own as it fills: somebody waits at the other end, and a look costs less than
 * a job of its own for each piece of work.
 * @param work handles what is due, and says how much that was
 */
export async function attentive(stopping: AbortSignal, work: () => Promise<number>): Promise<void> {
  const end = elapsedMs() + RUN_MS
  while (!stopping.aborted && elapsedMs() < end) {
    if ((await work()) === 0) await pause(LOOK_MS, stopping)
  }
}
