import { spawnSync } from 'node:child_process'

/** Debian's folders of programs; those of services are not in everybody's PATH. */
const PATH = `${process.env['PATH'] ?? ''}:/usr/sbin:/sbin`

/** Returns true if a program is installed. */
export const isInstalled = (program: string): boolean =>
  spawnSync('sh', ['-c', 'command -v "$0"', program], { env: { PATH } }).status === 0

/** Skips a test, or all of a `before` hook, and prints why. */
export function skip(context: Mocha.Context, reason: string): never {
  process.stdout.write(`      skipped: ${reason}\n`)
  return context.skip()
}

/** Skips unless the programs of some Debian packages are installed. */
export function requirePrograms(context: Mocha.Context, ...programs: readonly string[]): void {
  const missing = programs.filter((program) => !isInstalled(program))
  if (missing.length > 0) skip(context, `needs Debian's ${missing.join(', ')}`)
}
