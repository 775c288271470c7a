import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative, sep } from 'node:path'

/** Result of a test or hook; without a file if it belongs to all of them. */
interface Outcome {
  readonly file?: string
  readonly title: string
  readonly state: 'passed' | 'failed' | 'pending'
  readonly message?: string
}

/** Mocha itself, which reads `.mocharc.json` unless told otherwise. */
const MOCHA = join('node_modules', 'mocha', 'bin', 'mocha.js')
const LEDGER = join('test', 'core', 'ledger') + sep

/** Files with failed tests that run again; more of them have a common cause. */
const MAX_REPEATED_FILES = 5

/**
 * Runs all tests. On CI, whose machines may stall for seconds, files with a failed test run once
 * more, alone and in a new process, and their second outcomes count; tests of the ledger never run
 * twice. The last line says `N passed, N failed`.
 */
const folder = await mkdtemp(join(tmpdir(), 'agenthub-outcomes-'))
let outcomes: readonly Outcome[]
try {
  outcomes = await runMocha(process.argv.slice(2))
  const files = process.env['CI'] ? findRepeatable(outcomes) : []
  if (files.length > 0) outcomes = await repeat(files, outcomes)
} finally {
  await rm(folder, { recursive: true, force: true })
}
const count = (state: Outcome['state']) => outcomes.filter((each) => each.state === state).length
const skipped = count('pending') > 0 ? `, ${count('pending')} skipped` : ''
process.stdout.write(`${count('passed')} passed, ${count('failed')} failed${skipped}\n`)
process.exitCode = count('failed') > 0 || count('passed') === 0 ? 1 : 0

/** Outcomes of a run; throws if it ended otherwise than by its tests. */
async function runMocha(args: readonly string[]): Promise<Outcome[]> {
  const path = join(folder, 'outcomes.json')
  const options = ['--reporter-option', `outcomes=${path}`, ...args]
  const mocha = spawn(process.execPath, [MOCHA, ...options], { stdio: 'inherit' })
  const [code, signal] = await once(mocha, 'exit')
  const read: Outcome[] = JSON.parse(await readFile(path, 'utf8').catch(() => '[]'))
  const hasFailed = read.some(({ state }) => state === 'failed')
  if (code !== 0 && !hasFailed) throw new Error(`mocha ended with ${signal ?? code}`)
  await rm(path)
  return read
}

/** Files whose failures may be of the machine: none if there are too many, or one has no file. */
function findRepeatable(of: readonly Outcome[]): string[] {
  const failed = of.filter(({ state }) => state === 'failed')
  const files = [...new Set(failed.map(({ file }) => file && relative('.', file)))]
  const mayRepeat = files.every((file) => file !== undefined && !file.startsWith(LEDGER))
  return mayRepeat && files.length <= MAX_REPEATED_FILES ? (files as string[]) : []
}

async function repeat(files: readonly string[], first: readonly Outcome[]): Promise<Outcome[]> {
  const { spec: _, ...config } = JSON.parse(await readFile('.mocharc.json', 'utf8'))
  const path = join(folder, 'mocharc.json')
  await writeFile(path, JSON.stringify({ ...config, spec: files, parallel: false }))
  const second = await runMocha(['--config', path])
  const isRepeated = ({ file }: Outcome) => file && files.includes(relative('.', file))
  for (const { title, message } of first.filter(({ state }) => state === 'failed')) {
    process.stdout.write(`run twice: ${title}: ${message}\n`)
  }
  return [...first.filter((each) => !isRepeated(each)), ...second]
}
