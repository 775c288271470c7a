import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { copyFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { homedir } from 'node:os'
import { join } from 'node:path'
import type { JsonObject } from '../../../core/json.ts'

/** Request as `swagger-client` builds it. */
export interface BuiltRequest {
  readonly url: string
  readonly body?: unknown
}

/** Not a dependency of the project: it has a lock file of its own. */
const PEER = 'swagger-client'

type BuildRequest = (options: JsonObject) => BuiltRequest

/** Loads `swagger-client`, installed once as its lock file pins it, without scripts. */
export function loadBuilder(): BuildRequest {
  const manifest = import.meta.dirname
  const lock = readFileSync(join(manifest, 'package-lock.json'))
  const digest = createHash('sha256').update(lock).digest('hex').slice(0, 16)
  const cache = process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache')
  const folder = join(cache, 'agenthub', `bench-openapi-${digest}`)
  const names = ['package.json', 'package-lock.json']
  const require = createRequire(join(folder, 'package.json'))
  if (!existsSync(join(folder, 'node_modules', PEER))) {
    mkdirSync(folder, { recursive: true })
    for (const name of names) copyFileSync(join(manifest, name), join(folder, name))
    const args = ['ci', '--ignore-scripts', '--loglevel=error']
    execFileSync('npm', args, { cwd: folder, stdio: 'inherit' })
  }
  const { buildRequest } = require(PEER) as { readonly buildRequest: BuildRequest }
  return buildRequest
}
