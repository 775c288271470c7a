import { registerHooks } from 'node:module'
import { pathToFileURL } from 'node:url'

/**
 * How plugins from outside are imported: whatever copy of the hub they bring along, `agenthub/…` is
 * the one that runs them; and a version that changed on disk is imported anew, with all its files.
 */
const HUB_MODULES: ReadonlyMap<string, string> = new Map([
  ['agenthub/plugin', new URL('../plugin/index.ts', import.meta.url).href],
  ['agenthub/client', new URL('../client/index.ts', import.meta.url).href],
  ['agenthub/testing', new URL('../testing/index.ts', import.meta.url).href],
])
/** Folders by the number of the import. */
const importFolders = new Map<string, string>()
let isHooked = false

/**
 * The default export of a plugin's module, imported anew.
 * @param folder whose modules belong to it
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
