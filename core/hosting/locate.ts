import { readFile, realpath, stat } from 'node:fs/promises'
import { dirname, join, resolve, sep } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { z } from 'zod'
import { ISOLATIONS, type Isolation, isPath } from './entry.ts'

/** The version of the plugin API that this hub has. */
export const API_VERSION = 1

/** Where a plugin is, and what its package says of it. Nothing of it has been run. */
export interface Located {
  readonly spec: string
  /** Its files, and nobody else's. */
  readonly folder: string
  /** URL of the module whose default export is the plugin. */
  readonly entry: string
  readonly version: string
  /** How far from the hub it wants to be at least. */
  readonly isolation: Isolation
  /** What it cannot do without, where it runs apart. */
  readonly needs: readonly string[]
}

const Package = z.object({
  name: z.string().max(214).optional(),
  version: z.string().max(100).default('0.0.0'),
  main: z.string().optional(),
  exports: z.unknown().optional(),
  agenthub: z
    .object({
      apiVersion: z.int(),
      isolation: z.enum(ISOLATIONS).default('inline'),
      needs: z.array(z.string().max(100)).max(50).default([]),
    })
    .optional(),
})
type Package = z.infer<typeof Package>

/** Where packages are: those of the folder that the hub was started in, and its own. */
const CORE = fileURLToPath(new URL('../', import.meta.url))
const PLACES = [process.cwd(), join(CORE, '..')].map((place) => join(place, 'node_modules'))

/**
 * Finds a plugin by the name of an installed package, or by the path of a folder or a file.
 * @param places folders of packages
 * @throws Error when there is none, or it is for another version of the API
 */
export async function locate(spec: string, places = PLACES): Promise<Located> {
  const path = await firstThere(isPath(spec) ? [resolve(spec)] : places.map((p) => join(p, spec)))
  if (path === undefined) {
    const missing = isPath(spec) ? 'path' : `package: npm install ${spec}`
    throw new Error(`${spec}: there is no such ${missing}`)
  }
  const isFile = (await stat(path)).isFile()
  const folder = isFile ? dirname(path) : path
  const about = await packageOf(spec, folder)
  const asked = about?.agenthub
  const { apiVersion = API_VERSION, isolation = 'inline', needs = [] } = asked ?? {}
  if (apiVersion !== API_VERSION) {
    throw new Error(
      `${spec} is for version ${apiVersion} of the plugin API; here is ${API_VERSION}`,
    )
  }
  const file = isFile ? path : join(folder, await firstFile(spec, folder, about))
  const { version = '0.0.0' } = about ?? {}
  const entry = pathToFileURL(file).href
  return { spec, folder, entry, version, isolation, needs }
}

async function firstThere(paths: readonly string[]): Promise<string | undefined> {
  for (const path of paths) {
    const found = await realpath(path).catch(() => undefined)
    if (found !== undefined) return found
  }
  return undefined
}

async function packageOf(spec: string, folder: string): Promise<Package | undefined> {
  const text = await readFile(join(folder, 'package.json'), 'utf8').catch(() => undefined)
  if (text === undefined) return undefined
  const { data, error } = Package.safeParse(jsonOf(spec, text))
  if (data) return data
  const [issue] = error.issues
  throw new Error(`${spec}: package.json: ${issue?.path.join('.')}: ${issue?.message}`)
}

function jsonOf(spec: string, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new Error(`${spec}: package.json is not valid JSON`)
  }
}

/** Of a folder the source first, which is newer than what was built of it; a package has none. */
async function firstFile(spec: string, folder: string, about?: Package): Promise<string> {
  const named = mainOf(about?.exports) ?? about?.main ?? 'index.js'
  const isInstalled = folder.includes(`${sep}node_modules${sep}`)
  const names = isInstalled ? [named] : ['index.ts', named]
  for (const name of names) if (await isThere(join(folder, name))) return name
  throw new Error(`${spec}: there is no ${names.join(', ')}: is it built?`)
}

/** The main entry of `exports`, by the conditions that Node has for `import`. */
function mainOf(exports: unknown): string | undefined {
  if (typeof exports === 'string') return exports
  if (typeof exports !== 'object' || exports === null) return undefined
  const named = exports as Readonly<Record<string, unknown>>
  const found = ['.', 'node', 'import', 'default'].find((name) => name in named)
  return found === undefined ? undefined : mainOf(named[found])
}

const isThere = async (path: string): Promise<boolean> =>
  stat(path).then(
    (found) => found.isFile(),
    () => false,
  )
