import { elapsedMs, sleep } from '../../../core/clock.ts'

const SAMPLE_MS = 20
/** Time after the end of an outage in which another one would belong to the same fault. */
const SETTLE_MS = 3_000
const MAX_MS = 90_000

/**
 * Injects a fault and waits until it is over and callers receive responses again.
 * @param responses number of responses until now
 * @returns the longest time without a response, in milliseconds
 */
export async function measureOutage(
  responses: () => number,
  inject: () => Promise<void>,
  isOver: () => Promise<boolean>,
): Promise<number> {
  const start = elapsedMs()
  let [count, last, longest, overAt] = [responses(), start, 0, 0]
  const sampler = setInterval(() => {
    const now = elapsedMs()
    if (responses() > count) {
      ;[count, last] = [responses(), now]
    }
    longest = Math.max(longest, now - last)
  }, SAMPLE_MS)
  try {
    await inject()
    while (overAt === 0 || elapsedMs() - overAt < SETTLE_MS || elapsedMs() - last > SETTLE_MS) {
      if (elapsedMs() - start > MAX_MS) throw new Error(`the fault lasts longer than ${MAX_MS} ms`)
      if (overAt === 0 && (await isOver())) overAt = elapsedMs()
      await sleep(SAMPLE_MS)
    }
    return longest
  } finally {
    clearInterval(sampler)
  }
}
