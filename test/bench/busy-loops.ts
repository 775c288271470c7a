import { startManagedProcess } from '../../core/runtime/managed-process.ts'

const LOOPS = 2

/** Runs `work` beside two processes that take all the processor time that they get. */
export async function besideBusyLoops<T>(work: () => Promise<T>): Promise<T> {
  const loop = () => startManagedProcess(process.execPath, ['--eval', 'for (;;);'])
  const loops = Array.from({ length: LOOPS }, loop)
  try {
    return await work()
  } finally {
    await Promise.all(loops.map((each) => each.stop()))
  }
}
