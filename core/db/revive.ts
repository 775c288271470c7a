import { elapsedMs, pause } from '../clock.ts'
import type { Kept } from '../runtime/managed-process.ts'

/** Before a server that died is started again, by how often it died lately; then no more. */
const BACK_OFF_MS = [100, 500, 2_000, 5_000] as const
const LATELY_MS = 600_000

/** How a server that died comes back. */
export interface Revival {
  /** Starts it again. It refuses by itself to start beside what is left of the one that died. */
  readonly start: () => Promise<Kept>
  readonly warn: (text: string) => void
}

/**
 * Keeps a server running until it is stopped: whenever it ends, it is started again. When it ends
 * for the fifth time in ten minutes, this process does too: nobody catches the error.
 */
export function revive(first: Kept, { start, warn }: Revival): Pick<Kept, 'stop'> {
  const stopping = new AbortController()
  const { signal } = stopping
  let kept = first
  let ends: readonly number[] = []

  const watch = async (): Promise<void> => {
    for (let why = await endOf(kept); !signal.aborted; why = await again()) {
      const now = elapsedMs()
      ends = [...ends.filter((at) => now - at < LATELY_MS), now]
      const wait = BACK_OFF_MS[ends.length - 1]
      if (wait === undefined) throw new Error(`PostgreSQL is given up. ${why}`)
      warn(why)
      await pause(wait, signal)
    }
  }
  const again = async (): Promise<string> => {
    if (signal.aborted) return ''
    try {
      kept = await start()
    } catch (error) {
      return (error as Error).message
    }
    if (signal.aborted) await kept.stop()
    else warn('PostgreSQL runs again.')
    return endOf(kept)
  }

  const watching = watch()
  return {
    async stop() {
      stopping.abort()
      await kept.stop()
      await watching
    },
  }
}

async function endOf(kept: Kept): Promise<string> {
  const how = await kept.exited.catch((error: unknown) => error)
  return `PostgreSQL ended unexpectedly (${String(how)}). It said:\n${kept.tail()}`
}
