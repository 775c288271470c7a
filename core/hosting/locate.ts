import { readFile, realpath, stat } from 'node:fs/promises'
import { dirname, join, resolve, sep } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { z } from 'zod'
import { ISOLATIONS, type Isolation, isPath } from './entry.ts'

/** Version of the plugin API of this hub. */
export const API_VERSION = 1

/** Location of a plugin, and the settings in its package.json. Its code has not been run. */
export interface LocatedPlugin {
  readonly spec: string
  /** Folder with its own files only. */
  readonly folder: string
  /** URL of the module whose default export is the plugin. */
  readonly entry: string
  readonly version: string
  /** Minimum isolation. */
  readonly isolation: Isolation
  /** Capabilities required if it is isolated. */
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

/** `node_modules` of the working directory and of the hub. */
const CORE_FOLDER = fileURLToPath(new URL('../', import.meta.url))
const PACKAGE_FOLDERS = [process.cwd(), join(CORE_FOLDER, '..')].map((place) =>
  join(place, 'node_modules'),
)

/**
 * Locates a plugin by the name of an installed package, or by the path of a folder or file.
 * @param places folders of packages
 * @throws Error if it is missing or requires another version of the API
 */
export async function locate(spec: string, places = PACKAGE_FOLDERS): Promise<LocatedPlugin> {
  const path = await firstExisting(
    isPath(spec) ? [resolve(spec)] : places.map((p) => join(p, spec)),
  )
  if (path === undefined) {
    const missing = isPath(spec) ? 'path' : `package: npm install ${spec}`
    throw new Error(`${spec}: there is no such ${missing}`)
  }
  const isFile = (await stat(path)).isFile()
  const folder = isFile ? dirname(path) : path
  const about = await readPackage(spec, folder)
  const { apiVersion = API_VERSION, isolation = 'inline', needs = [] } = about?.agenthub ?? {}
  if (apiVersion !== API_VERSION) {
    throw new Error(
      `${spec} requires version ${apiVersion} of the plugin API; this hub has ${API_VERSION}`,
    )
  }
  const file = isFile ? path : join(folder, await findEntryFile(spec, folder, about))
  const { version = '0.0.0' } = about ?? {}
  const entry = pathToFileURL(file).href
  return { spec, folder, entry, version, isolation, needs }
}

async function firstExisting(paths: readonly string[]): Promise<string | undefined> {
  for (const path of paths) {
    const found = await realpath(path).catch(() => undefined)
    if (found !== undefined) return found
  }
  return undefined
}

async function readPackage(spec: string, folder: string): Promise<Package | undefined> {
  const text = await readFile(join(folder, 'package.json'), 'utf8').catch(() => undefined)
  if (text === undefined) return undefined
  const { data, error } = Package.safeParse(parsePackage(spec, text))
  if (data) return data
  const [issue] = error.issues
  throw new Error(`${spec}: package.json: ${issue?.path.join('.')}: ${issue?.message}`)
}

function parsePackage(spec: string, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new Error(`${spec}: package.json is not valid JSON`)
  }
}

/** Finds the entry file. In a source folder, index.ts comes first: build output may be outdated. */
async function findEntryFile(spec: string, folder: string, about?: Package): Promise<string> {
  const named = mainExport(about?.exports) ?? about?.main ?? 'index.js'
  const isInstalled = folder.includes(`${sep}node_modules${sep}`)
  const names = isInstalled ? [named] : ['index.ts', named]
  for (const name of names) if (await isFile(join(folder, name))) return name
  throw new Error(`${spec}: there is no ${names.join(', ')}: is it built?`)
}

/** Main entry of `exports`, by the conditions of Node's `import`. */
function mainExport(exports: unknown): string | undefined {
  if (typeof exports === 'string') return exports
  if (typeof exports !== 'object' || exports === null) return undefined
  const named = exports as Readonly<Record<string, unknown>>
  const found = ['.', 'node', 'import', 'default'].find((name) => name in named)
  return found === undefined ? undefined : mainExport(named[found])
}

const isFile = async (path: string): Promise<boolean> =>
  stat(path).then(
    (found) => found.isFile(),
    () => false,
  )
