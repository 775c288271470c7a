import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { createContext, Script } from 'node:vm'
import { expect } from 'chai'
import { lengthLimitOf } from '../support/bounded-patterns.ts'
import { hubPatterns, parsePattern } from '../support/patterns.ts'

const ROOT = join(import.meta.dirname, '../..')
/** Largest foreign text that the hub reads in the event loop. */
const LENGTH = 262_144
/** A quadratic pattern takes minutes for a text of this length. */
const TIMEOUT_MS = 2_000
const REPEATED = [
  ...Array.from(' \n-.,:/"<&=%@([{#_aA0é\u0301'),
  'a ',
  'a.',
  '0,',
  '<a ',
  '<!--',
  'a-',
  ' a',
  '://',
]

/** Repeats parts of a pattern, and texts that are hard for many. */
function attacksOn(source: string, length: number): readonly string[] {
  const literal = source.replaceAll(/\\(?:[a-z]|[pP]\{.*?\})|[\\^$.*+?()[\]{}|]/g, '')
  const words = literal === '' ? [] : [literal, literal.slice(0, 1), literal.slice(0, 4)]
  const pieces = [...REPEATED, ...words, ...words.map((word) => `${word} `)]
  return pieces.map(
    (piece) => `${piece.repeat(Math.ceil(length / piece.length)).slice(0, length)}\0`,
  )
}

/** Searches in a context whose execution V8 can end, even within a pattern. */
function search({ source, flags }: ReturnType<typeof parsePattern>, text: string): void {
  const pattern = new RegExp(source, flags.replaceAll(/[gy]/g, ''))
  new Script('pattern.test(text)').runInContext(createContext({ pattern, text }), {
    timeout: TIMEOUT_MS,
  })
}

const isSlow = (pattern: string, length: number): boolean => {
  const parsed = parsePattern(pattern)
  try {
    for (const text of attacksOn(parsed.source, length)) search(parsed, text)
    return false
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error
    return true
  }
}

describe('A135 a pattern of the hub', function () {
  this.timeout(240_000)

  it('ends soon for attacks of the largest permitted size', async () => {
    const list = execFileSync('git', ['-c', 'safe.directory=*', 'ls-files'], {
      cwd: ROOT,
      encoding: 'utf8',
    })
    const used = await hubPatterns(ROOT, list.split('\n'))
    expect(used.size).to.be.above(500)
    const slow = [...used].filter(([pattern, files]) => {
      const limits = files.map((file) => lengthLimitOf(file, pattern) ?? LENGTH)
      return isSlow(pattern, Math.max(...limits))
    })
    expect(slow.join('\n')).to.equal('')
  })

  it('would be found: a quadratic one is slow', () => {
    expect(isSlow('/\\s+$/', LENGTH)).to.equal(true)
    expect(isSlow('/^(?:a+)+$/', LENGTH)).to.equal(true)
  })
})
