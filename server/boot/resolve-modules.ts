import { existsSync, lstatSync, readFileSync, realpathSync } from 'node:fs'
import { type ResolveFnOutput, registerHooks } from 'node:module'
import { basename, dirname, extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * Resolves imports as Node.js does, each once per directory, and without its searches if they name
 * a file: a hub loads its two thousand modules with a fifth less CPU time. Leaves
 * everything else, and uncertain cases, to Node.js.
 */
export function resolveModulesFaster(): { deregister(): void } {
  const results = new Map<string, ResolveFnOutput>()
  return registerHooks({
    resolve(specifier, context, next) {
      const { parentURL = '', conditions, importAttributes } = context
      const isImport = conditions.includes('import') && parentURL.startsWith('file:')
      if (!isImport || specifier.includes('?') || Object.keys(importAttributes).length > 0) {
        return next(specifier, context)
      }
      const key = `${parentURL.slice(0, parentURL.lastIndexOf('/') + 1)} ${specifier}`
      let result = results.get(key)
      if (!result) {
        const { url, format } = findFile(specifier, parentURL) ?? next(specifier, context)
        result = { url, format, shortCircuit: true }
        results.set(key, result)
      }
      return result
    },
  })
}

/** Finds the file that a relative specifier names, if its name says what it contains. */
function findFile(specifier: string, parentURL: string): ResolveFnOutput | undefined {
  if (!/^\.{1,2}\//.test(specifier) || /[^\w./-]/.test(specifier)) return undefined
  const url = new URL(specifier, parentURL)
  const path = fileURLToPath(url)
  if (!lstatSync(path, { throwIfNoEntry: false })?.isFile()) return undefined
  const format = formatsOf(dirname(path))[extname(path)]
  return format === undefined ? undefined : { url: url.href, format }
}

type Formats = Readonly<Record<string, string>>

/** Formats by extension, in packages that declare themselves as modules. */
const MODULES: Formats = { '.js': 'module', '.ts': 'module-typescript' }
const UNKNOWN: Formats = {}
const formatsByFolder = new Map<string, Formats>()

/** Returns the formats of files in a folder; of none if its path has links. */
function formatsOf(folder: string): Formats {
  const known = formatsByFolder.get(folder)
  if (known) return known
  const isModule = realpathSync.native(folder) === folder && packageTypeOf(folder) === 'module'
  const formats = isModule ? MODULES : UNKNOWN
  formatsByFolder.set(folder, formats)
  return formats
}

const packageTypes = new Map<string, unknown>()

/** Returns the `type` of the package that a folder belongs to: of the nearest package.json. */
function packageTypeOf(folder: string): unknown {
  if (!packageTypes.has(folder)) packageTypes.set(folder, readPackageType(folder))
  return packageTypes.get(folder)
}

function readPackageType(folder: string): unknown {
  const file = join(folder, 'package.json')
  if (existsSync(file)) return JSON.parse(readFileSync(file, 'utf8')).type
  const parent = dirname(folder)
  return parent === folder || basename(folder) === 'node_modules'
    ? undefined
    : packageTypeOf(parent)
}
