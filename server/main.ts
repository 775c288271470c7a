import { enableCompileCache } from 'node:module'
import { dirname, join } from 'node:path'
import { environment } from '../core/config/process-environment.ts'
import { productionVariables } from '../core/config/production-variables.ts'
import { forkEarly } from './boot/fork-workers.ts'
import { resolveModulesFaster } from './boot/resolve-modules.ts'

/**
 * Program of the hub. Compiled code is stored between starts, because compiling it would take most
 * of the time until a killed hub serves again, and in a folder that is as trusted as the code. If
 * that folder cannot be written, NODE_COMPILE_CACHE names another one.
 */
enableCompileCache(join(dirname(import.meta.dirname), 'node_modules/.cache/agenthub/code'))
resolveModulesFaster()
if ((process.argv[2] ?? 'serve') === 'serve') {
  const isProduction = productionVariables(environment).length > 0
  await forkEarly(environment, isProduction ? { sandbox: undefined } : undefined)
}
await import('./program.ts')
