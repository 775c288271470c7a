import { elapsedMs, sleep } from '../../core/clock.ts'

const POLL_MS = 20

/** Polls until `isTrue` returns true. @throws Error after `timeoutMs` */
export async function eventually(
  isTrue: () => boolean | Promise<boolean>,
  timeoutMs = 30_000,
): Promise<void> {
  const deadline = elapsedMs() + timeoutMs
  while (!(await isTrue())) {
    if (elapsedMs() > deadline) throw new Error(`not true within ${timeoutMs} ms`)
    await sleep(POLL_MS)
  }
}
