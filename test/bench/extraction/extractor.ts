import { readFileSync } from 'node:fs'
import { registerHooks, stripTypeScriptTypes } from 'node:module'
import type { extract } from '../../../plugins/content/extract/extract.ts'
import { reuse, type Step } from './page-state.ts'
import { changesOf, RULES, THRESHOLDS, type Variant } from './variants.ts'

const FOLDER = new URL('../../../plugins/content/extract/', import.meta.url).href
const STATE = new URL('./page-state.ts', import.meta.url).href
const TRACE = new URL('./trace.ts', import.meta.url).href

/** Parts of the result that the score does not read, left out because they cost time. */
const UNREAD: readonly Variant[] = [
  { module: 'markdown', name: 'markdownOf', value: "() => ''" },
  { module: 'agreement', name: 'secondReading', value: "() => ''" },
  { module: 'words', name: 'countWords', value: '() => 0' },
  { module: 'unrendered', name: 'asksForScript', value: '() => false' },
  { module: 'outline', name: 'headlineOf', value: '() => []' },
  { module: 'outline', name: 'headingsOf', value: '() => []' },
  { module: 'outline', name: 'linksOf', value: '() => []' },
  { module: 'outline', name: 'imagesOf', value: '() => []' },
]

/** Functions whose results on a page are shared, in modules that a configuration keeps. */
const SHARED: readonly Variant[] = [
  ['dom', 'parse', 'state.parseOnce'],
  ['metadata', 'metadataOf', "state.shared('metadata', 'metadata', replaced_metadataOf)"],
  ['kind', 'declaredKind', "state.shared('kind', 'declared', replaced_declaredKind)"],
  [
    'structured-data',
    'structuredDataOf',
    "state.shared('data', 'data', replaced_structuredDataOf)",
  ],
  ['clean', 'removeHidden', 'state.sharedHidden(replaced_removeHidden)'],
  ['clean', 'removeSurroundings', 'state.sharedSurroundings(replaced_removeSurroundings)'],
  ['body', 'bodyOf', 'state.sharedBody(replaced_bodyOf)'],
  ['names', 'remembered', 'trace.memory'],
].map(([module, name, value]) => ({ module: module!, name: name!, value: value! }))

const imports = new Map<string, readonly string[]>()
const sourceOf = (module: string): string => readFileSync(new URL(`${FOLDER}${module}.ts`), 'utf8')

/** Returns the modules that a module runs. */
function importsOf(module: string): readonly string[] {
  const known = imports.get(module)
  if (known) return known
  const found = sourceOf(module).matchAll(/^import (?!type )[^'"]*from '\.\/([\w-]+)\.ts'/gm)
  const names = Array.from(found, ([, name]) => name!)
  imports.set(module, names)
  return names
}

/** Returns true if a module is changed or runs one that is. */
const isAffected = (module: string, changed: ReadonlySet<string>): boolean =>
  changed.has(module) || importsOf(module).some((each) => isAffected(each, changed))

const changedBy = (names: readonly string[]): ReadonlySet<string> =>
  new Set(names.flatMap(changesOf).map(({ module }) => module))

/** Modules on which the result of each step depends. */
const MODULES: Readonly<Record<Step, readonly string[]>> = {
  metadata: ['metadata'],
  kind: ['kind'],
  data: ['metadata', 'structured-data'],
  clean: ['dom', 'streamed', 'notation', 'clean'],
  body: ['dom', 'streamed', 'notation', 'clean', 'body'],
}

/** Returns the steps whose results on a page are those of the configuration in use. */
function reusable(names: readonly string[]): ReadonlySet<Step> {
  const changed = changedBy(names)
  const steps = Object.keys(MODULES) as Step[]
  return new Set(steps.filter((step) => !MODULES[step].some((each) => isAffected(each, changed))))
}

const namesOf = (url: string | undefined): readonly string[] | undefined => {
  const names = url?.startsWith(FOLDER) ? new URL(url).searchParams.get('with') : null
  return names?.split('|').filter(Boolean)
}

const moduleOf = (url: string): string => url.slice(FOLDER.length).replace(/\.ts(?:\?.*)?$/, '')

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

/** Variants of which it can be told on which pages they matter. */
const TRACED: ReadonlyMap<string, Variant> = new Map(
  Object.entries({ ...RULES, ...THRESHOLDS }).filter(([, { pure, noted }]) => pure || noted),
)
/** Functions that note on which pages a variant matters, by what the constant is. */
const NOTED = { tree: 'tracedTree', set: 'tracedSet', pattern: 'tracedPattern' } as const

/** Returns the source of a function of a module. */
export function functionIn(source: string, name: string): string {
  const start = new RegExp(`^(?:export )?(?=(?:const|function) ${name}\\b)`, 'm').exec(source)!
  const rest = source.slice(start.index + start[0].length)
  return rest.slice(0, rest.search(/\n\n|(?<=\n\})\n/))
}

/** Returns the source of a function with another value of a constant. */
function variantOf(name: string, { module, name: changed, value, helpers = [] }: Variant): string {
  if (name === changed) return value
  const functions = [...helpers, name].map((each) => functionIn(sourceOf(module), each))
  return `(() => {\nconst ${changed}: any = ${value}\n${functions.join('\n')}\nreturn ${name} })()`
}

/** Functions of the configuration in use that note which variants matter on a page. */
function tracesOf(module: string): Variant[] {
  const others = new Map<string, string[]>()
  const own = [...TRACED].filter(([, change]) => change.module === module)
  const traces = own.flatMap(([variant, { name, noted }]) =>
    noted
      ? [{ module, name, value: `trace.${NOTED[noted]}(() => replaced_${name}, '${variant}')` }]
      : [],
  )
  for (const [variant, change] of own) {
    for (const name of change.pure ?? []) {
      const other = `['${variant}', ${variantOf(name, change)}]`
      others.set(name, [...(others.get(name) ?? []), other])
    }
  }
  for (const [name, all] of others) {
    const value = `trace.traced((...args) => replaced_${name}(...args), [${all.join()}])`
    traces.push({ module, name, value })
  }
  return traces
}

const scripts = new Map<string, string>()

/** Removes types, once for all configurations that share a module. */
function scriptOf(source: string): string {
  const script = scripts.get(source) ?? stripTypeScriptTypes(source)
  scripts.set(source, script)
  return script
}

registerHooks({
  resolve: (specifier, context, next) => {
    const found = next(specifier, context)
    const names = namesOf(context.parentURL)
    if (!names || !found.url.startsWith(FOLDER)) return found
    const isOwn = isAffected(moduleOf(found.url), changedBy(names))
    return {
      ...found,
      url: `${found.url}?with=${isOwn ? encodeURIComponent(names.join('|')) : ''}`,
    }
  },
  load: (url, context, next) => {
    const names = namesOf(url)
    if (!names) return next(url, context)
    const module = moduleOf(url)
    const changes = names.flatMap(changesOf)
    const own = [
      ...UNREAD,
      ...(names.length === 0 ? [...SHARED, ...tracesOf(module)] : []),
      ...changes,
    ]
    const source = own
      .filter((variant) => variant.module === module)
      .reduce(
        replace,
        `import * as state from '${STATE}'\nimport * as trace from '${TRACE}'\n${sourceOf(module)}`,
      )
    return { format: 'module', source: scriptOf(source), shortCircuit: true }
  },
})

/** Extracts the text of a page in a configuration. */
export interface ConfiguredExtractor {
  readonly textOf: (html: string, url: string) => string
  /** Variants whose lack of effect on a page shows that the configuration gives the same text. */
  readonly variants: readonly string[] | undefined
}

/** Loads the extractor with some of the variants. */
export async function extractorWith(names: readonly string[]): Promise<ConfiguredExtractor> {
  const url = `${FOLDER}extract.ts?with=${encodeURIComponent(names.join('|'))}`
  const { extract: read } = (await import(url)) as { readonly extract: typeof extract }
  const steps = reusable(names)
  const textOf = (html: string, address: string): string => {
    reuse(steps)
    try {
      return read(html, address).text
    } catch {
      return ''
    }
  }
  return { textOf, variants: names.every((name) => TRACED.has(name)) ? names : undefined }
}
