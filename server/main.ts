import { enableCompileCache } from 'node:module'
import { fileURLToPath } from 'node:url'

/**
 * Program of the hub. Compiled code is stored between starts, in a folder as trusted as the code
 * itself, because it takes two thirds of the time in which a killed hub serves again. Where the
 * folder cannot be written, NODE_COMPILE_CACHE names another one.
 */
enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/agenthub/code', import.meta.url)))
await import('./program.ts')
