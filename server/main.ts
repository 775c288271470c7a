import { enableCompileCache } from 'node:module'
import { dirname, join } from 'node:path'
import { environment } from '../core/config/process-environment.ts'
import { forkEarly } from './boot/fork-workers.ts'

/**
 * Program of the hub. Compiled code is stored between starts, because compiling it would take most
 * of the time until a killed hub serves again, and in a folder that is as trusted as the code. If
 * that folder cannot be written, NODE_COMPILE_CACHE names another one.
 */
enableCompileCache(join(dirname(import.meta.dirname), 'node_modules/.cache/agenthub/code'))
if ((process.argv[2] ?? 'serve') === 'serve') forkEarly(environment)
await import('./program.ts')
