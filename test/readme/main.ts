import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { elapsedMs } from '../../core/clock.ts'
import { eventually } from '../support/eventually.ts'
import { type Block, commandsOf, findBlocks, isService } from './blocks.ts'
import {
  BEFORE,
  PLACEHOLDERS,
  PREPARATIONS,
  REFUSED,
  SKIPPED,
  SKIPPED_FILES,
} from './deviations.ts'
import { Newcomer } from './newcomer.ts'
import { startWeatherApi } from './weather-api.ts'

/**
 * Program of `npm run test:readme -- --node 20`: runs every code block of every README, in order,
 * in a fresh clone of the last commit and with that version of Node.
 */
const ROOT = join(import.meta.dirname, '../..')
const DOCUMENTED = 'http://127.0.0.1:8402'
/** The reader's own API. */
const DOCUMENTED_API = 'http://127.0.0.1:9000'
const START = 'npm ci && npm start'
const PERSON = 'you@example.com'
const READY = /AgentHub is ready at[\s\S]*Bearer ahk_\w+/

const depth = (file: string): number => file.split('/').length
/** True for the output of `curl` that shows a refusal. */
const isRefusal = (out: string): boolean => /"type":"\/docs\/problems\//.test(out)

const { values } = parseArgs({ options: { node: { type: 'string', default: '24' } } })
const folder = mkdtempSync(join(tmpdir(), 'agenthub-readme-'))
mkdirSync(join(folder, 'home'))
execFileSync('git', ['clone', '--quiet', ROOT, join(folder, 'agenthub')])
const npm = ['install', '--silent', '--prefix', join(folder, 'node'), `node@${values.node}`]
execFileSync('npm', npm, { stdio: 'inherit' })

const api = startWeatherApi()
const apiUrl = `http://127.0.0.1:${await portOf(api)}`
const port = await findFreePort()
const url = `http://127.0.0.1:${port}`
const nodeFolder = join(folder, 'node/node_modules/node/bin')
const newcomer = new Newcomer(folder, nodeFolder, {
  HUB_PORT: `${port}`,
  HUB_BASE_URL: url,
  HUB_PLUGIN_HOSTS: apiUrl,
  H: url,
})
/** The blocks of the agent, which a reader saves as one file. */
const agent: string[] = []
let failures = 0
/** Output of the last command, which the next block may show. */
let last = ''

try {
  report('', `Node ${(await newcomer.run('node --version')).out.trim()}`)
  const files = execFileSync('git', ['ls-files', '*README.md'], { cwd: ROOT, encoding: 'utf8' })
  const ordered = files
    .trim()
    .split('\n')
    .toSorted((a, b) => depth(a) - depth(b))
  for (const file of ordered) {
    newcomer.reset()
    await newcomer.run('rm -rf "$HOME" && mkdir "$HOME"')
    for (const command of PREPARATIONS[file] ?? []) await newcomer.run(command)
    const blocks = findBlocks(file, readFileSync(join(newcomer.clone, file), 'utf8'))
    for (const block of blocks) await runBlock(block)
  }
} finally {
  await newcomer.stop()
  api.close()
  rmSync(folder, { recursive: true, force: true })
}
process.stdout.write(`${failures} failed\n`)
process.exitCode = failures > 0 ? 1 : 0

async function runBlock(block: Block): Promise<void> {
  newcomer.reset()
  const { language, text } = block
  if (language === 'sh') for (const command of commandsOf(block)) await runCommand(block, command)
  else if (language === 'ts' && block.file === 'README.md' && !isService(text))
    await runAgent(block)
  else if (language === 'json') check(block, 'JSON', isJson(text))
  else if (text.startsWith('HTTP/1.1 ')) {
    const missing = text
      .trim()
      .split('\n')
      .filter((line) => !last.includes(line))
    check(block, 'the response that it shows', missing.length === 0, missing.join('\n'))
  }
}

async function runCommand(block: Block, command: string): Promise<void> {
  const reason =
    SKIPPED_FILES[block.file] ?? SKIPPED.find(([pattern]) => pattern.test(command))?.[1]
  if (reason !== undefined) return report('skipped', `${command} (${reason})`, block)
  if (command === START) return start(block)
  const line = PLACEHOLDERS.reduce((text, [from, to]) => text.replace(from, to), command)
  const before = BEFORE.find(([pattern]) => pattern.test(command))?.[1]
  if (before !== undefined) await newcomer.run(before)
  const startMs = elapsedMs()
  const { exit, out } = await newcomer.run(
    line.replaceAll(DOCUMENTED, url).replaceAll(DOCUMENTED_API, apiUrl),
  )
  last = out
  const call = /^X-Call-Id: (\S+)/im.exec(out)?.[1]
  if (call !== undefined) newcomer.set({ CALL: call })
  const seconds = ((elapsedMs() - startMs) / 1000).toFixed(1)
  const refusal = REFUSED.find(([pattern]) => pattern.test(command))?.[1]
  const isGood = refusal ? exit === 1 && refusal.test(out) : exit === 0 && !isRefusal(out)
  check(block, `${command} (${seconds} s)`, isGood, `exit ${exit}: ${out}`)
}

/** Starts the hub, and signs in as the person whom later blocks name. */
async function start(block: Block): Promise<void> {
  const startMs = elapsedMs()
  const out = await newcomer.start(START, READY)
  const KEY = /Bearer (ahk_\w+)/.exec(out)![1]!
  newcomer.set({ KEY })
  await signIn()
  const seconds = ((elapsedMs() - startMs) / 1000).toFixed(1)
  check(block, `${START} (${seconds} s)`, true)
}

/** Signs in with the link that a sandbox prints, as the text around a block says. */
async function signIn(): Promise<void> {
  const post = (path: string, body: string) =>
    newcomer.run(`curl -s ${url}${path} -H 'Content-Type: application/json' -d '${body}'`)
  await post('/v1/account/sign-in', `{"email":"${PERSON}"}`)
  const find = () => /confirm\?token=([\w-]+)/.exec(newcomer.printed())?.[1]
  await eventually(() => find() !== undefined)
  await post('/v1/account/confirm', `{"token":"${find()}"}`)
}

/** Runs all blocks of the agent so far, as one program. */
async function runAgent(block: Block): Promise<void> {
  agent.push(block.text.replaceAll(DOCUMENTED, url))
  writeFileSync(join(newcomer.clone, 'agent.ts'), agent.join('\n'))
  const { exit, out } = await newcomer.run('npx node agent.ts')
  check(block, 'npx node agent.ts', exit === 0, out)
}

function check(block: Block, what: string, isGood: boolean, detail = ''): void {
  report(isGood ? 'ok' : 'FAILED', what, block)
  if (isGood) return
  failures += 1
  process.stdout.write(`${detail.slice(-2000)}\n`)
}

function report(state: string, what: string, block?: Block): void {
  const place = block ? `${block.file}:${block.line}: ` : ''
  process.stdout.write(`${state.padEnd(8)}${place}${what}\n`)
}

/** True for a document, or for members of one. */
function isJson(text: string): boolean {
  for (const candidate of [text, `{${text}}`]) {
    try {
      JSON.parse(candidate)
      return true
    } catch {
      continue
    }
  }
  return false
}

/** Finds a port that nothing listens on. */
async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  const port = await portOf(server)
  await new Promise((resolve) => server.close(resolve))
  return port
}

async function portOf(server: Server): Promise<number> {
  await once(server, 'listening')
  const address = server.address()
  if (typeof address !== 'object' || address === null) throw new Error('no port')
  return address.port
}
