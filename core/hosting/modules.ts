import { registerHooks } from 'node:module'
import { pathToFileURL } from 'node:url'

/**
 * How plugins from outside are imported: whatever copy of the hub they bring along, `agenthub/…` is
 * the one that runs them; and a version that changed on disk is imported anew, with all its files.
 */
const OWN: ReadonlyMap<string, string> = new Map([
  ['agenthub/plugin', new URL('../plugin/index.ts', import.meta.url).href],
  ['agenthub/client', new URL('../client/index.ts', import.meta.url).href],
  ['agenthub/testing', new URL('../testing/index.ts', import.meta.url).href],
])
/** Folders by the number of the import. */
const imported = new Map<string, string>()
let isHooked = false

/**
 * The default export of a plugin's module, imported anew.
 * @param folder whose modules belong to it
 * @throws whatever the module throws
 */
export async function importAnew(entry: string, folder: string): Promise<unknown> {
  hook()
  const number = String(imported.size + 1)
  imported.set(number, `${pathToFileURL(folder).href}/`)
  const module: { readonly default?: unknown } = await import(numbered(entry, number))
  return module.default
}

const numbered = (url: string, number: string): string => {
  const found = new URL(url)
  found.searchParams.set('hub', number)
  return found.href
}

function hook(): void {
  if (isHooked) return
  isHooked = true
  registerHooks({
    resolve(specifier, context, next) {
      const own = OWN.get(specifier)
      if (own !== undefined) return { url: own, shortCircuit: true }
      const found = next(specifier, context)
      const number = numberOf(context.parentURL)
      const folder = number === null ? undefined : imported.get(number)
      if (number === null || folder === undefined || !isOf(folder, found.url)) return found
      return { ...found, url: numbered(found.url, number) }
    },
  })
}

const numberOf = (url: string | undefined): string | null =>
  url?.startsWith('file:') ? new URL(url).searchParams.get('hub') : null

const isOf = (folder: string, url: string): boolean =>
  url.startsWith(folder) && !url.slice(folder.length).includes('node_modules/')
