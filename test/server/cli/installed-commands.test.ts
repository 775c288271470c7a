import { execFileSync, spawn } from 'node:child_process'
import { chownSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, extname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect } from 'chai'
import { parse as parseJson } from 'jsonc-parser'
import { parse as parseToml } from 'smol-toml'
import { parse as parseYaml } from 'yaml'
import { useHub } from '../../support/suite.ts'
import { HOMES } from './assistant-files.ts'
import { type Account, MAIN, User } from './hub.ts'

const TOOLS = 9
/** The account `nobody`, for a test that runs as root. */
const NOBODY: Account = { uid: 65_534, gid: 65_534 }
const PARSERS: Readonly<Record<string, (content: string) => unknown>> = {
  '.json': parseJson,
  '.toml': parseToml,
  '.yaml': parseYaml,
}
const MESSAGES = [
  {
    id: 1,
    method: 'initialize',
    params: {
      protocolVersion: '2025-06-18',
      capabilities: {},
      clientInfo: { name: 'assistant', version: '1' },
    },
  },
  { method: 'notifications/initialized' },
  { id: 2, method: 'tools/list' },
].map((message) => JSON.stringify({ jsonrpc: '2.0', ...message }))

/** Our entry in the file of an assistant: a command, or a URL and where its headers come from. */
interface Entry {
  readonly command?: string
  /** As Goose names it. */
  readonly cmd?: string
  readonly args?: readonly string[]
  readonly url?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly headersHelper?: string
  /** As Codex names it. */
  readonly http_headers_helper?: string
}

/** Finds the entry named agenthub at any depth. */
function findEntry(value: unknown): Entry | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const members: Readonly<Record<string, unknown>> = { ...value }
  if (members['name'] === 'agenthub' && 'command' in members) return members
  if ('agenthub' in members) return members['agenthub'] as Entry
  return Object.values(members)
    .map(findEntry)
    .find((entry) => entry !== undefined)
}

describe('what hub install writes', function () {
  const hub = useHub()
  let ada: User

  before(async function () {
    const account = process.getuid?.() === 0 ? NOBODY : undefined
    try {
      execFileSync(process.execPath, ['--check', MAIN], { ...account, stdio: 'ignore' })
    } catch {
      this.skip() // other accounts cannot read this folder
    }
    ada = new User({ HUB_BASE_URL: hub().url }, account)
    ada.env['NODE_COMPILE_CACHE'] = join(ada.home, '.compiled')
    for (const [file, content] of Object.values(HOMES)) {
      mkdirSync(dirname(join(ada.home, file)), { recursive: true })
      writeFileSync(join(ada.home, file), content)
    }
    if (account) {
      const files = readdirSync(ada.home, { recursive: true, encoding: 'utf8' })
      for (const file of files) chownSync(join(ada.home, file), account.uid, account.gid)
    }
    await ada.json('register')
    expect((await ada.hub(['install'])).err).to.include(`It works: ${TOOLS} tools`)
  })
  after(() => ada?.leave())

  /** Runs a command as an assistant does: from another folder, with nothing found by name. */
  async function run(command: string, args: readonly string[], input: string): Promise<string> {
    const env = { HOME: ada.home, PATH: '/none' }
    const child = spawn(command, args, { cwd: '/', env, ...ada.account })
    child.stdin.end(input)
    const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)])
    expect(err, `${command} ${args.join(' ')}`).to.equal('')
    return out
  }
  const shell = (line: string): Promise<string> => run('/bin/sh', ['-c', line], '')

  /** Lists the tools over stdio. */
  async function listByCommand(
    command: string,
    args: readonly string[],
  ): Promise<readonly object[]> {
    const out = await run(command, args, `${MESSAGES.join('\n')}\n`)
    const responses = out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    return responses.find(({ id }) => id === 2).result.tools
  }

  /** Lists the tools over HTTP. */
  async function listByUrl(
    url: string,
    headers: Record<string, string>,
  ): Promise<readonly object[]> {
    const response = await fetch(url, {
      method: 'POST',
      headers: {
        ...headers,
        'Content-Type': 'application/json',
        Accept: 'application/json, text/event-stream',
      },
      body: MESSAGES[2]!,
    })
    const { result } = (await response.json()) as { result: { tools: readonly object[] } }
    return result.tools
  }

  /** Returns the headers of an entry as its assistant reads them. */
  async function headersOf(entry: Entry): Promise<Record<string, string>> {
    const helper = entry.headersHelper ?? entry.http_headers_helper
    if (helper !== undefined) return JSON.parse(await shell(helper))
    const named = Object.entries(entry.headers ?? {})
    const resolved = named.map(async ([name, value]) => {
      const file = /\{file:(.+)\}/.exec(value)?.[1]
      const content = file === undefined ? '' : (await shell(`/bin/cat '${file}'`)).trim()
      return [name, value.replace(/\{file:.+\}/, () => content)] as const
    })
    return Object.fromEntries(await Promise.all(resolved))
  }

  for (const [id, [file]] of Object.entries(HOMES)) {
    it(`lists the tools when ${id} starts it, as an ordinary user, and needs no npm`, async () => {
      const parse = PARSERS[extname(file)]!
      const entry = findEntry(parse(readFileSync(join(ada.home, file), 'utf8')))!
      const command = entry.command ?? entry.cmd
      const tools =
        command === undefined
          ? await listByUrl(entry.url!, await headersOf(entry))
          : await listByCommand(command, entry.args!)
      expect(tools).to.have.length(TOOLS)
    })
  }
})
