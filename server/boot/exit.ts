import type { Drain } from '../../core/config.ts'
import { ConfigError } from '../../core/config.ts'
import { isPrivilegeError } from '../../core/db/privilege-error.ts'
import type { Log } from '../../core/log.ts'
import { Refusal } from '../../core/plugin/index.ts'

/** Milliseconds to stop, beyond the drain. */
const STOP_MS = 15_000

/** Exits with 1 when the time to drain and stop is over, even if a dependency hangs. */
export function exitAfterDrain(
  log: Log,
  { delaySeconds: delay, graceSeconds: grace }: Drain,
  stopMs = STOP_MS,
): void {
  const exit = (): never => {
    log.error('the process did not stop in time: it is ended')
    process.exit(1)
  }
  setTimeout(exit, (delay + grace) * 1_000 + stopMs).unref()
}

/** Exits when all output is written, even if something that failed keeps the process alive. */
export async function exitProcess(code: number): Promise<never> {
  const flushed = [process.stdout, process.stderr].map(
    (stream) => new Promise<void>((resolve) => stream.write('', () => resolve())),
  )
  await Promise.all(flushed)
  process.exit(code)
}

const OTHER_LOGINS =
  'Set DATABASE_OWNER_URL to the login of the owner; a backup uses HUB_BACKUP_DATABASE_URL.'

/** Describes a failure to the operator: an expected one by its message, others by their stack. */
export function describeFailure(error: unknown): string {
  // Reports the first error, not one that followed from stopping.
  if (error instanceof SuppressedError) return describeFailure(error.suppressed)
  if (!(error instanceof Error)) return String(error)
  // A plugin throws Refusal for settings that it cannot use; the system, for files and ports.
  const isExpected = error instanceof ConfigError || error instanceof Refusal || 'syscall' in error
  if (isExpected) return error.message
  return isPrivilegeError(error)
    ? `The database login may not do this (${error.message}). ${OTHER_LOGINS}`
    : (error.stack ?? error.message)
}
