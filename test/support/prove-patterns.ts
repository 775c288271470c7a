import { execFileSync } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { checkSync } from 'recheck'
import { lengthLimitOf } from './bounded-patterns.ts'
import { hubPatterns, PROVEN, parsePattern } from './patterns.ts'

/**
 * `npm run patterns`: proves new patterns of the hub linear and writes linear-patterns.txt. Prints
 * those that are not, with an attack.
 */
const ROOT = join(import.meta.dirname, '../..')
/** Time for one pattern; without a native program, a few need it. */
const TIMEOUT_MS = 60_000

const list = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
  cwd: ROOT,
  encoding: 'utf8',
})
const used = await hubPatterns(ROOT, list.split('\n'))
const before = new Set((await readFile(join(ROOT, PROVEN), 'utf8').catch(() => '')).split('\n'))
const proven = new Set([...used.keys()].filter((pattern) => before.has(pattern)))
let unproven = 0
for (const [pattern, files] of used) {
  if (proven.has(pattern) || files.every((file) => lengthLimitOf(file, pattern) !== undefined))
    continue
  const { source, flags } = parsePattern(pattern)
  const result = checkSync(source, flags, { timeout: TIMEOUT_MS })
  if (result.status === 'safe') {
    proven.add(pattern)
    continue
  }
  unproven++
  const found = result.status === 'vulnerable' ? result.complexity.summary : result.error.kind
  process.stdout.write(`${files.join(', ')}: ${pattern} is not linear: ${found}\n`)
  if (result.status === 'vulnerable') process.stdout.write(`  for ${result.attack.pattern}\n`)
}
await writeFile(join(ROOT, PROVEN), `${[...proven].toSorted().join('\n')}\n`)
process.exitCode = unproven === 0 ? 0 : 1
