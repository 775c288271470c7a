import { forkEarly } from '../../../server/boot/fork-workers.ts'
import { resolveModulesFaster } from '../../../server/boot/resolve-modules.ts'
import type { RecoveryHubOptions } from './hub-program.ts'

/** Program: lets the workers of `hub-program.ts` load first, like `server/main.ts`. */
const { mode, place } = JSON.parse(process.argv[2]!) as RecoveryHubOptions
resolveModulesFaster()
if (mode === 'serve') await forkEarly(process.env, { sandbox: place })
await import('./hub-program.ts')
