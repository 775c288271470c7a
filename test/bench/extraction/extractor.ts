import { readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import type { extract } from '../../../plugins/content/extract/extract.ts'
import { VARIANTS, type Variant } from './variants.ts'

const FOLDER = new URL('../../../plugins/content/extract/', import.meta.url).href

/** Parts of the result that the score does not read, left out because they cost time. */
const UNREAD: readonly Variant[] = [
  { module: 'markdown', name: 'markdownOf', value: "() => ''" },
  { module: 'agreement', name: 'secondReading', value: "() => ''" },
  { module: 'words', name: 'countWords', value: '() => 0' },
  { module: 'outline', name: 'linksOf', value: '() => []' },
  { module: 'outline', name: 'imagesOf', value: '() => []' },
]

const variantsOf = (url: string | undefined): readonly Variant[] | undefined => {
  const names = url?.startsWith(FOLDER) ? new URL(url).searchParams.get('with') : null
  return names?.split('|').flatMap((name) => VARIANTS[name] ?? [])
}

/** Replaces a function or constant of a module's source. */
export function replace(source: string, { module, name, value }: Variant): string {
  const replaced = source.replace(
    new RegExp(`^(export )?(const|function) ${name}\\b`, 'm'),
    (_, exported: string | undefined, word: string) =>
      `${exported ?? ''}const ${name}: any = ${value}\n${word} replaced_${name}`,
  )
  if (replaced === source) throw new Error(`${module} has no ${name}`)
  return replaced
}

registerHooks({
  resolve: (specifier, context, next) => {
    const found = next(specifier, context)
    if (!variantsOf(context.parentURL) || !found.url.startsWith(FOLDER)) return found
    return { ...found, url: found.url + new URL(context.parentURL!).search }
  },
  load: (url, context, next) => {
    const loaded = next(url, context)
    const variants = variantsOf(url)
    if (!variants) return loaded
    const own = [...UNREAD, ...variants].filter(({ module }) =>
      url.startsWith(`${FOLDER}${module}.ts?`),
    )
    const source = own.reduce(replace, readFileSync(new URL(url), 'utf8'))
    return { ...loaded, source }
  },
})

/** Loads the extractor with some of the {@link VARIANTS}; of the result, only `text` is whole. */
export async function extractorWith(names: readonly string[]): Promise<typeof extract> {
  const url = `${FOLDER}extract.ts?with=${encodeURIComponent(names.join('|'))}`
  return ((await import(url)) as { readonly extract: typeof extract }).extract
}
