import { Counter, Registry } from 'prom-client'
import type { Drain } from '../../core/config.ts'
import type { Log } from '../../core/log.ts'
import { exitAfterDrain } from '../boot/exit.ts'

type Origin = NodeJS.UncaughtExceptionOrigin

/** Errors of this process, or of its workers, that no code handled. */
export interface UnhandledErrors {
  /** Resolves at the first one: the process should drain and end, so that it is replaced. */
  readonly occurred: Promise<Origin>
  /** Exit code of the process: 1 after such an error, so that its supervisor starts another one. */
  readonly exitCode: 0 | 1
}

/**
 * Logs and counts exceptions and rejections that no code handles, instead of ending the process
 * with the work of its other callers. After the first one, the process has the time of a drain to
 * end; later ones do not change that.
 */
export function watchUnhandledErrors(log: Log, drain: Drain, stopMs?: number): UnhandledErrors {
  let exitCode: 0 | 1 = 0
  const occurred = new Promise<Origin>((resolve) => {
    // Without a listener for rejections, Node.js raises them as exceptions of that origin.
    process.on('uncaughtException', (error, origin) => {
      countUnhandledError(origin)
      log.error({ err: error, origin }, 'an error was not handled: the process drains and ends')
      if (exitCode === 1) return
      exitCode = 1
      exitAfterDrain(log, drain, stopMs)
      resolve(origin)
    })
  })
  return {
    occurred,
    get exitCode() {
      return exitCode
    },
  }
}

const registry = new Registry()
const counter = new Counter({
  name: 'hub_unhandled_errors_total',
  help: 'Errors that no code handled, by origin. The process drained and ended after the first.',
  labelNames: ['origin'],
  registers: [registry],
})

export const countUnhandledError = (origin: Origin): void => counter.inc({ origin })

/** Metrics of this process. The primary process counts the errors of its workers too. */
export const unhandledErrorMetrics = (): Promise<string> => registry.metrics()
