import { posix } from 'node:path'
import {
  BANS,
  type Ban,
  COLUMNS_MAX,
  CORE_LAYERS,
  DATA,
  LAYERS,
  LINES_MAX,
  ROOTS,
  SQL_COLUMNS_MAX,
  TOP_LEVEL,
} from './decisions.ts'
import { citations, docComments, glossary } from './language.ts'
import { ledgerBoundary } from './ledger-boundary.ts'
import { linearPatterns } from './patterns.ts'
import { type Rule, type SourceText, sourceOf, type Tree } from './source-text.ts'

/** Syntax that names another file; the quoted specifier follows. */
const SPECIFIERS = [
  /\b(?:from|import)\s*(?=(['"]))/g,
  /\b(?:import|require|import\.meta\.resolve)\s*\(\s*(?=(['"`]))/g,
  /\bnew URL\(\s*(?=(['"`])[^'"`]*['"`],\s*import\.meta\.url)/g,
  /\bimport\.meta\.dirname,\s*(?=(['"`]))/g,
]

const isChecked = (path: string): boolean => /\.(ts|sql|cjs)$/.test(path) && !DATA.test(path)
const isSource = (path: string): boolean => /\.(ts|cjs)$/.test(path)

const views = new Map<string, SourceText>()
function viewsOf(text: string): SourceText {
  const known = views.get(text) ?? sourceOf(text)
  views.set(text, known)
  return known
}

/** Returns the repository files that a file names: imports including types, workers, and data. */
function targetsOf(path: string, tree: Tree): string[] {
  const { code, whole } = viewsOf(tree.get(path) ?? '')
  const targets = new Set<string>()
  for (const pattern of SPECIFIERS) {
    for (const found of code.matchAll(pattern)) {
      const from = found.index + found[0].length + 1
      const specifier = whole.slice(from, whole.indexOf(found[1]!, from))
      const target = resolved(path, specifier, pattern === SPECIFIERS[3], tree)
      if (target !== undefined) targets.add(target)
    }
  }
  return [...targets]
}

function resolved(
  path: string,
  specifier: string,
  isPath: boolean,
  tree: Tree,
): string | undefined {
  if (specifier.startsWith('agenthub/')) return exportsOf(tree)[specifier.replace('agenthub', '.')]
  if (!isPath && !specifier.startsWith('.')) return undefined
  return posix.join(posix.dirname(path), specifier)
}

function exportsOf(tree: Tree): Readonly<Record<string, string>> {
  const { exports = {} } = JSON.parse(tree.get('package.json') ?? '{}') as {
    exports?: Record<string, string>
  }
  return Object.fromEntries(
    Object.entries(exports).map(([name, path]) => [name, posix.normalize(path)]),
  )
}

const imports: Rule = (tree) =>
  [...tree.keys()].filter(isSource).flatMap((path) => {
    const layer = LAYERS.find(({ files }) => files.test(path))
    if (!layer) return []
    const may = new RegExp(layer.may.replaceAll('$1', layer.files.exec(path)?.[1] ?? ''))
    return targetsOf(path, tree)
      .filter((target) => !may.test(target))
      .map((target) => `${path} may not import ${target}: ${layer.instead}`)
  })

/** Reports imports of core that go up its layers, or sideways between two folders of one layer. */
const coreLayers: Rule = (tree) => {
  const rank = new Map(CORE_LAYERS.flatMap((group, i) => group.map((name) => [name, i] as const)))
  const folderOf = (path: string) => /^core\/([^/]+)\//.exec(path)?.[1]
  return [...tree.keys()].filter(isSource).flatMap((path) => {
    const folder = folderOf(path)
    if (folder === undefined) return []
    if (!rank.has(folder)) return [`core/${folder} has no layer: add it to CORE_LAYERS`]
    return targetsOf(path, tree).flatMap((target) => {
      const other = target === 'core/config.ts' ? 'config' : folderOf(target)
      if (other === undefined || other === folder) return []
      if (rank.get(other)! < rank.get(folder)!) return []
      return [`${path} may not import ${target}: core/${other} is not below core/${folder}`]
    })
  })
}

const bans: Rule = (tree) =>
  [...tree].flatMap(([path, text]) =>
    isChecked(path) ? BANS.flatMap((ban) => breaches(ban, path, text)) : [],
  )

function breaches(
  { what, pattern, view, files, except, instead }: Ban,
  path: string,
  text: string,
): string[] {
  if (!files.test(path) || except?.test(path)) return []
  const lines = path.endsWith('.sql') ? text : viewsOf(text)[view]
  return lines
    .split('\n')
    .flatMap((line, i) => (pattern.test(line) ? [`${path}:${i + 1} has ${what}: ${instead}`] : []))
}

const sizes: Rule = (tree) =>
  [...tree].flatMap(([path, text]) => {
    if (!isChecked(path)) return []
    const lines = text.replace(/\n$/, '').split('\n')
    const max = path.endsWith('.sql') ? SQL_COLUMNS_MAX : COLUMNS_MAX
    const found = lines.flatMap((line, i) => {
      const columns = line.length
      return columns > max ? [`${path}:${i + 1} has ${columns} columns: break it at ${max}`] : []
    })
    if (lines.length > LINES_MAX) {
      found.push(`${path} has ${lines.length} lines: split it by what it is about (${LINES_MAX})`)
    }
    return found
  })

/** The linter enforces the function limit; this rule protects its configuration. */
const functions: Rule = (tree) => {
  const config = JSON.parse(tree.get('.oxlintrc.json') ?? '{}') as {
    rules?: Record<string, unknown>
    overrides?: { files: string[]; rules: Record<string, unknown> }[]
  }
  const name = 'max-lines-per-function'
  const { rules = {}, overrides = [] } = config
  const demanded = JSON.stringify(rules[name]) === '["error",{"max":60}]'
  const found = demanded ? [] : [`.oxlintrc.json must demand "${name}": ["error", { "max": 60 }]`]
  for (const { files, rules: own } of overrides) {
    if (name in own && files.join() !== 'test/**') {
      found.push(`.oxlintrc.json may not lift ${name} for ${files.join()}: split the functions`)
    }
  }
  return found
}

const reach: Rule = (tree) => {
  const hub = reachedFrom(
    [...tree.keys()].filter((path) => ROOTS.test(path)),
    tree,
  )
  const configs = ['package.json', '.mocharc.json'].map((path) => tree.get(path) ?? '').join()
  const tests = reachedFrom(
    [...tree.keys()].filter(
      (path) => path.startsWith('test/') && (path.endsWith('.test.ts') || configs.includes(path)),
    ),
    tree,
  )
  return [...tree.keys()].filter(isSource).flatMap((path) => {
    if (hub.has(path) || (path.startsWith('test/') && tests.has(path))) return []
    return tests.has(path)
      ? [`${path} is reached by tests alone: use it, move it to test/, or delete it`]
      : [`${path} is reached by nothing: import it where it is needed, or delete it`]
  })
}

function reachedFrom(roots: readonly string[], tree: Tree): ReadonlySet<string> {
  const reached = new Set(roots)
  for (const path of reached) {
    for (const target of targetsOf(path, tree)) if (tree.has(target)) reached.add(target)
  }
  return reached
}

const topLevel: Rule = (tree) => {
  const allowed = new Set(TOP_LEVEL)
  const present = new Set([...tree.keys()].map((path) => path.split('/')[0]!))
  const added = [...present].filter((name) => !allowed.has(name))
  const missing = [...allowed].filter((name) => !present.has(name))
  return [
    ...added.map((name) => `${name} may not be at the top level: put it into one of the folders`),
    ...missing.map((name) => `${name} is missing at the top level: add it`),
  ]
}

const readmes: Rule = (tree) =>
  ['core', 'plugins', 'server', 'jobs']
    .filter((folder) => !tree.has(`${folder}/README.md`))
    .map((folder) => `${folder}/README.md is missing: explain the folder in a page`)

const migrations: Rule = (tree) =>
  [...tree.keys()]
    .filter((path) => path.startsWith('core/db/migrations/'))
    .toSorted()
    .flatMap((path, i) => {
      const number = String(i + 1).padStart(4, '0')
      const fits = new RegExp(`/${number}_[a-z][a-z_]*[.]sql$`).test(path)
      return fits ? [] : [`${path} breaks the order: the next migration is ${number}_name.sql`]
    })

/** Architecture rules by the guarantee that each enforces. */
export const RULES = {
  'every import stays within its layer': imports,
  'core is layered: no folder imports one above it': coreLayers,
  'what is banned has a place or a replacement': bans,
  'files fit a screen and a head': sizes,
  'functions have a limit': functions,
  'nothing lies around that nobody reaches': reach,
  'the top level is the list of the design': topLevel,
  'each folder explains itself': readmes,
  'migrations are numbered without gaps': migrations,
  'the ledger can be distributed by shard': ledgerBoundary,
  'patterns take linear time': linearPatterns,
  'doc comments say what a thing is or does': docComments,
  'names and comments keep to the glossary': glossary,
  'citations name documents of this repository': citations,
} as const satisfies Readonly<Record<string, Rule>>
