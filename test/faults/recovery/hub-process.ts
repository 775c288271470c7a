import { forkEarly } from '../../../server/boot/fork-workers.ts'
import type { RecoveryHubOptions } from './hub-program.ts'

/** Program: loads the hub of `hub-program.ts` and its workers at once, like `server/main.ts`. */
const { mode } = JSON.parse(process.argv[2]!) as RecoveryHubOptions
if (mode === 'serve') forkEarly(process.env)
await import('./hub-program.ts')
