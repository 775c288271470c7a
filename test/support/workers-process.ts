import { forkEarly } from '../../server/boot/fork-workers.ts'
import { resolveModulesFaster } from '../../server/boot/resolve-modules.ts'

/** Program: loads `workers-program.ts` in the primary process and workers at once, as main.ts. */
resolveModulesFaster()
await forkEarly(process.env)
await import('./workers-program.ts')
