import { execFileSync } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { BUILT, lengthLimitOf } from './bounded-patterns.ts'
import { type Rule, regExpsOf, sourceOf, type Tree } from './source-text.ts'

/** List of the patterns that recheck has proved linear, one a line. */
export const PROVEN = 'test/support/linear-patterns.txt'

/** Code of the hub. Excluded is code that reads only its user's or operator's text. */
const CHECKED = /^(?:core|plugins|jobs|server)\/.*\.ts$/
const EXCLUDED = /^server\/(?:cli|commands|sandbox)\/|^plugins\/\w+\/(?:train|data)\//

const isChecked = (path: string): boolean => CHECKED.test(path) && !EXCLUDED.test(path)

/** Lists the pattern literals of a file, as `/source/flags`. */
const literalsOf = (text: string): readonly string[] =>
  regExpsOf(text).map(({ source, flags }) => `/${source}/${flags}`)

const provenIn = (tree: Tree): ReadonlySet<string> => new Set((tree.get(PROVEN) ?? '').split('\n'))

const ADVICE =
  'run npm run patterns; if it is not linear, rewrite it, or limit the text first and list it in ' +
  'test/support/bounded-patterns.ts'

/** Reports patterns that are neither proved linear nor listed with a limit of their input. */
export const linearPatterns: Rule = (tree) => {
  const proven = provenIn(tree)
  return [...tree].flatMap(([path, text]) => {
    if (!isChecked(path)) return []
    const unproven = literalsOf(text).filter(
      (pattern) => !proven.has(pattern) && lengthLimitOf(path, pattern) === undefined,
    )
    const isBuilt = /\bRegExp\s*\(/.test(sourceOf(text).code) && !(path in BUILT)
    return [
      ...unproven.map((pattern) => `${path} has the unproven pattern ${pattern}: ${ADVICE}`),
      ...(isBuilt ? [`${path} builds a pattern: write a literal, or list it in BUILT`] : []),
    ]
  })
}

const BUILDER = join(import.meta.dirname, 'built-patterns.ts')

/** Returns all patterns of the hub, literal and built, with the files that have them. */
export async function hubPatterns(
  root: string,
  paths: readonly string[],
): Promise<ReadonlyMap<string, readonly string[]>> {
  const found = new Map<string, string[]>()
  const add = (file: string, pattern: string) =>
    found.set(pattern, [...new Set([...(found.get(pattern) ?? []), file])])
  for (const path of paths.filter(isChecked)) {
    const text = await readFile(join(root, path), 'utf8').catch(() => '') // deleted
    for (const pattern of literalsOf(text)) add(path, pattern)
  }
  const built = execFileSync(process.execPath, [BUILDER], { encoding: 'utf8' })
  for (const [file, pattern] of JSON.parse(built) as [string, string][]) add(file, pattern)
  return found
}

export function parsePattern(pattern: string): { source: string; flags: string } {
  const end = pattern.lastIndexOf('/')
  return { source: pattern.slice(1, end), flags: pattern.slice(end + 1) }
}
