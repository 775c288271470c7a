import { dirname, join } from 'node:path'

/** Folder of compiled code, as `server/main.ts` stores it; also that of test processes. */
export const COMPILED_CODE = join(
  dirname(dirname(import.meta.dirname)),
  'node_modules/.cache/agenthub/code',
)
