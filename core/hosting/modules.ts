import { registerHooks } from 'node:module'
import { pathToFileURL } from 'node:url'

/** Modules of this hub by import name, given to third-party plugins instead of their copies. */
const HUB_MODULES: ReadonlyMap<string, string> = new Map([
  ['agenthub/plugin', new URL('../plugin/index.ts', import.meta.url).href],
  ['agenthub/client', new URL('../client/index.ts', import.meta.url).href],
  ['agenthub/testing', new URL('../testing/index.ts', import.meta.url).href],
])
/** Plugin folders by import number, which is added to the URLs of their modules. */
const importFolders = new Map<string, string>()
let isHooked = false

/**
 * Imports a plugin's module and its other files afresh, so that changes on disk take effect.
 * @param folder the plugin's folder
 * @returns the default export
 * @throws whatever the module throws
 */
export async function importFresh(entry: string, folder: string): Promise<unknown> {
  installHook()
  const number = String(importFolders.size + 1)
  importFolders.set(number, `${pathToFileURL(folder).href}/`)
  const module: { readonly default?: unknown } = await import(withImportNumber(entry, number))
  return module.default
}

const withImportNumber = (url: string, number: string): string => {
  const found = new URL(url)
  found.searchParams.set('hub', number)
  return found.href
}

function installHook(): void {
  if (isHooked) return
  isHooked = true
  registerHooks({
    resolve(specifier, context, next) {
      const own = HUB_MODULES.get(specifier)
      if (own !== undefined) return { url: own, shortCircuit: true }
      const found = next(specifier, context)
      const number = importNumberOf(context.parentURL)
      const folder = number === null ? undefined : importFolders.get(number)
      if (number === null || folder === undefined || !belongsTo(folder, found.url)) return found
      return { ...found, url: withImportNumber(found.url, number) }
    },
  })
}

const importNumberOf = (url: string | undefined): string | null =>
  url?.startsWith('file:') ? new URL(url).searchParams.get('hub') : null

const belongsTo = (folder: string, url: string): boolean =>
  url.startsWith(folder) && !url.slice(folder.length).includes('node_modules/')
