import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

/**
 * Reports the plugin API as TypeScript declares it: `agenthub/plugin` and the types it uses,
 * without comments. Run as a program, it writes the committed report.
 */
const ROOT = new URL('../..', import.meta.url).pathname
const KEPT = new URL('../core/plugin/api.txt', import.meta.url)
/** Files that declare what plugins see; their internal types are excluded. */
const FILES = [
  'core/plugin/index',
  'core/plugin/parts',
  'core/plugin/schema',
  'core/plugin/call',
  'core/plugin/deprecation',
  'core/plugin/metered',
  'core/money',
  'core/clock',
  'core/egress/http',
  'core/egress/errors',
  'core/plugin/render-error',
  'core/retry-after',
  'core/singular',
]
/** Declarations of shared files that plugins can name. */
const OURS: Readonly<Record<string, RegExp>> = {
  'core/plugin/metered': /^export (interface (MeteredPrice|UnitPrice) |declare function unitPrice)/,
  'core/plugin/deprecation': /^export interface Deprecation /,
  'core/money': /^export (type Micros|declare const micros|declare function usd)/,
  'core/clock': /^export interface Clock /,
  'core/egress/http': /^export interface Egress(Request|Response|Timeouts|) /,
  'core/egress/errors': /^(export )?declare (const TEXT|class EgressError)/,
  'core/plugin/render-error': /^(export )?declare (const TEXT|class RenderError)/,
}

export function apiReport(): string {
  const out = mkdtempSync(join(tmpdir(), 'agenthub-api-'))
  try {
    const config = join(out, 'tsconfig.json')
    const compilerOptions = {
      noEmit: false,
      declaration: true,
      emitDeclarationOnly: true,
      removeComments: true,
      rootDir: ROOT,
      outDir: join(out, 'types'),
      types: ['node'],
      typeRoots: [join(ROOT, 'node_modules/@types')],
    }
    const files = [join(ROOT, 'core/plugin/index.ts')]
    writeFileSync(
      config,
      JSON.stringify({ extends: join(ROOT, 'tsconfig.json'), compilerOptions, include: [], files }),
    )
    execFileSync(join(dirname(process.execPath), 'node'), [tsc(), '-p', config], { stdio: 'pipe' })
    return FILES.map((name) => {
      const text = readFileSync(join(out, 'types', `${name}.d.ts`), 'utf8')
      return `=== ${name}\n${partsOf(text, OURS[name]).join('\n')}\n`
    }).join('\n')
  } finally {
    rmSync(out, { recursive: true })
  }
}

const tsc = (): string => join(ROOT, 'node_modules/typescript/bin/tsc')

/** Splits a file into declarations, each from an unindented line to the next. */
function partsOf(text: string, ours: RegExp | undefined): readonly string[] {
  const parts = text.split(/\n(?=[a-z])/).map((part) => part.trim())
  const declarations = parts.filter((part) => !/^import |^export \{\};?$/.test(part))
  return ours ? declarations.filter((part) => ours.test(part)) : declarations
}

if (process.argv[1] === new URL(import.meta.url).pathname) writeFileSync(KEPT, apiReport())
