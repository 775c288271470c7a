import { readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import type { extract } from '../../../plugins/content/extract/extract.ts'

/** Export of a module of the extractor that is replaced, and the result it then has. */
interface Rule {
  readonly module: string
  readonly name: string
  readonly result: string
}

/** Groups of rules that can be left out, each by replacing one function. */
export const RULES: Readonly<Record<string, Rule>> = {
  'names of surroundings': { module: 'names', name: 'surroundingName', result: 'undefined' },
  'names of what is never text': { module: 'names', name: 'removableName', result: 'undefined' },
  'names of annotations': { module: 'names', name: 'annotationName', result: 'undefined' },
  'names around products': { module: 'names', name: 'aroundProductName', result: 'undefined' },
  'names of bodies': { module: 'names', name: 'isBodyName', result: 'false' },
  'text despite names of controls': { module: 'names', name: 'isControlName', result: 'false' },
  'lines that lead elsewhere': { module: 'phrases', name: 'isBoilerplateLine', result: 'false' },
  'sections that lead elsewhere': { module: 'sections', name: 'removeSections', result: '{}' },
  'paragraphs about authors': { module: 'sections', name: 'removeBios', result: '{}' },
  'listed articles': { module: 'links', name: 'isListedArticle', result: 'false' },
  'lists that lead outside': { module: 'links', name: 'leadsOutside', result: 'false' },
  'protected quotes, code and tables': { module: 'layout', name: 'isWhole', result: 'false' },
  'names of the layout': { module: 'layout', name: 'layoutNames', result: 'new Set()' },
  copies: { module: 'copies', name: 'removeCopies', result: '{}' },
  notation: { module: 'notation', name: 'normalizeNotation', result: '{}' },
}

const FOLDER = new URL('../../../plugins/content/extract/', import.meta.url).href

const ruleOf = (url: string | undefined): string | null =>
  url?.startsWith(FOLDER) ? new URL(url).searchParams.get('without') : null

/** Replaces a function of a module's source. */
const replace = (source: string, { name, result }: Rule): string =>
  source.replace(
    new RegExp(`^export (const|function) ${name}\\b`, 'm'),
    `export const ${name} = (): any => (${result})\n$1 replaced_${name}`,
  )

registerHooks({
  resolve: (specifier, context, next) => {
    const found = next(specifier, context)
    const rule = ruleOf(context.parentURL)
    if (rule === null || !found.url.startsWith(FOLDER)) return found
    return { ...found, url: `${found.url}?without=${encodeURIComponent(rule)}` }
  },
  load: (url, context, next) => {
    const loaded = next(url, context)
    const rule = RULES[ruleOf(url) ?? '']
    if (!rule || !url.startsWith(`${FOLDER}${rule.module}.ts?`)) return loaded
    const original = readFileSync(new URL(url), 'utf8')
    const source = replace(original, rule)
    if (source === original) throw new Error(`${url} exports no ${rule.name}`)
    return { ...loaded, source }
  },
})

/** Loads the extractor without one group of rules. */
export async function extractorWithout(rule: string): Promise<typeof extract> {
  const url = `${FOLDER}extract.ts?without=${encodeURIComponent(rule)}`
  return ((await import(url)) as { readonly extract: typeof extract }).extract
}
