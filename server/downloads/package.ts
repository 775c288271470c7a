import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { cachedFor } from '../../core/runtime/cache.ts'

const run = promisify(execFile)
const CACHE_MS = 86_400_000
const MAX_BYTES = 64 << 20
const BUILDER = join(import.meta.dirname, 'main.ts')

/** Returns the package with the command line and the client (.tgz), built on first use each day. */
export const readPackage = cachedFor(CACHE_MS, async (): Promise<Buffer> => {
  const args = ['--no-warnings', BUILDER]
  const options = { encoding: 'buffer', maxBuffer: MAX_BYTES } as const
  const { stdout } = await run(process.execPath, args, options)
  return stdout
})
