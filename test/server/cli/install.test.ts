import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect } from 'chai'
import { parse as parseToml } from 'smol-toml'
import { parse as parseYaml } from 'yaml'
import { HOMES } from './assistant-files.ts'
import { User } from './hub.ts'

const ENV = { HUB_API_KEY: '', HUB_BASE_URL: 'http://127.0.0.1:8402' }

describe('hub install', () => {
  const users: User[] = []
  /** Creates a user with a key for a hub that does not run; installing needs none. */
  const user = (env: Readonly<Record<string, string>> = {}): User => {
    const made = new User({ ...ENV, ...env })
    users.push(made)
    const hubs = { [ENV.HUB_BASE_URL]: { api_key: KEY, key_id: 'key_x', wallet_address: '0x0' } }
    write(join(made.home, '.config/agenthub/credentials.json'), JSON.stringify({ hubs }))
    return made
  }
  after(() => {
    for (const each of users) each.leave()
  })
  const write = (path: string, text: string): void => {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text)
  }
  /** Creates a user with all fourteen assistants. */
  const collector = (env?: Readonly<Record<string, string>>): User => {
    const made = user(env)
    for (const [file, text] of Object.values(HOMES)) write(join(made.home, file), text)
    return made
  }
  const read = ({ home }: User, id: string): string =>
    readFileSync(join(home, HOMES[id]![0]), 'utf8')
  const ids = Object.keys(HOMES)

  it('adds the hub to the files of all fourteen assistants and changes nothing else', async () => {
    const ada = collector()
    const { clients } = (await ada.json('install')) as { clients: readonly { done: string }[] }
    expect(clients.map(({ done }) => done)).to.deep.equal(Array(14).fill('installed'))
    for (const id of ids) {
      const [before, after] = [HOMES[id]![1], read(ada, id)]
      expect(after, id).to.include('agenthub')
      expect(after, id).to.not.include(KEY)
      // All old content is there in order; only complete entries of ours are in between.
      if (before.trim() !== '') expect(without(after, before), id).to.equal(true)
    }
  })

  it('writes the format that each assistant reads', async () => {
    const ada = collector()
    await ada.json('install')
    const codex = parseToml(read(ada, 'codex')) as { mcp_servers: Record<string, object> }
    expect(codex.mcp_servers).to.have.keys('other', 'agenthub')
    expect(codex.mcp_servers['agenthub']).to.have.keys('url', 'http_headers_helper')
    const goose = parseYaml(read(ada, 'goose')) as { extensions: Record<string, object> }
    expect(goose.extensions['agenthub']).to.include({ type: 'stdio', enabled: true })
    expect(goose.extensions).to.have.keys('developer', 'agenthub')
    const block = parseYaml(read(ada, 'continue')) as { mcpServers: { name: string }[] }
    expect(block).to.include({ name: 'agenthub', version: '0.0.1', schema: 'v1' })
    expect(block.mcpServers.map(({ name }) => name)).to.deep.equal(['agenthub'])
    const cursor = JSON.parse(read(ada, 'cursor')) as { mcpServers: Record<string, object> }
    expect(cursor.mcpServers['agenthub']).to.have.keys('command', 'args')
    expect(JSON.parse(read(ada, 'junie'))).to.have.nested.property('mcpServers.agenthub')
    const key = join(ada.home, '.config/agenthub/api-key')
    expect(readFileSync(key, 'utf8')).to.equal(`${KEY}\n`)
    expect(statSync(key).mode & 0o777).to.equal(0o600)
  })

  it('creates no config.yaml of Continue, which would replace its config.json', async () => {
    const ada = user()
    const models = '{ "models": [{ "title": "mine" }] }\n'
    write(join(ada.home, '.continue/config.json'), models)
    await ada.json('install', 'continue')
    expect(readdirSync(join(ada.home, '.continue')).toSorted()).to.deep.equal([
      'config.json',
      'mcpServers',
    ])
    expect(readFileSync(join(ada.home, '.continue/config.json'), 'utf8')).to.equal(models)
    await ada.json('install', 'continue', '--remove')
    expect(readdirSync(join(ada.home, '.continue/mcpServers'))).to.deep.equal([])
  })

  it('changes nothing when run again', async () => {
    const ada = collector()
    await ada.json('install')
    const first = ids.map((id) => read(ada, id))
    const { clients } = (await ada.json('install')) as { clients: readonly { done: string }[] }
    expect(clients.map(({ done }) => done)).to.deep.equal(Array(14).fill('unchanged'))
    expect(ids.map((id) => read(ada, id))).to.deep.equal(first)
  })

  it('restores every file byte for byte with --remove', async () => {
    const ada = collector()
    await ada.json('install')
    await ada.json('install', '--remove')
    for (const id of ids)
      expect(existsSync(join(ada.home, HOMES[id]![0])) ? read(ada, id) : '', id).to.equal(
        HOMES[id]![1],
      )
  })

  it('removes its own entry after the user has added another one', async () => {
    const ada = collector()
    await ada.json('install', 'cursor')
    const file = join(ada.home, HOMES['cursor']![0])
    const more = JSON.parse(readFileSync(file, 'utf8'))
    more.mcpServers.b = { command: 'b' }
    writeFileSync(file, JSON.stringify(more, null, 4))
    await ada.json('install', 'cursor', '--remove')
    const { mcpServers } = JSON.parse(readFileSync(file, 'utf8'))
    expect(mcpServers).to.have.keys('a', 'b')
  })

  it('writes nothing with --dry-run and --print', async () => {
    const ada = collector()
    const { err } = await ada.hub(['install', '--dry-run'])
    expect(err)
      .to.match(/^\+.*agenthub/m)
      .and.not.include(KEY)
    await ada.json('install', '--print')
    for (const id of ids) expect(read(ada, id), id).to.equal(HOMES[id]![1])
  })

  it('creates no file for an assistant that is not installed', async () => {
    const nobody = user()
    const { exit } = await nobody.hub(['install'])
    expect(exit).to.equal(2)
    expect(readdirSync(nobody.home)).to.deep.equal(['.config'])
  })

  it('refuses a file that it cannot parse and leaves it unchanged', async () => {
    const ada = user()
    const broken = '{ "mcpServers": { '
    write(join(ada.home, '.cursor/mcp.json'), broken)
    const { exit, err } = await ada.hub(['install', 'cursor'])
    expect([exit, err]).to.satisfy(
      ([code, text]: [number, string]) => code === 1 && /--print/.test(text),
    )
    expect(readFileSync(join(ada.home, '.cursor/mcp.json'), 'utf8')).to.equal(broken)
  })

  it('preserves file modes, follows links and leaves a backup', async () => {
    const ada = user()
    const file = join(ada.home, '.cursor/mcp.json')
    write(file, '{}\n')
    const { chmodSync, symlinkSync, renameSync, lstatSync } = await import('node:fs')
    const real = join(ada.home, 'dotfiles.json')
    renameSync(file, real)
    symlinkSync(real, file)
    chmodSync(real, 0o640)
    await ada.json('install', 'cursor')
    expect(lstatSync(file).isSymbolicLink()).to.equal(true)
    expect(statSync(real).mode & 0o777).to.equal(0o640)
    const copy = readdirSync(dirname(file)).find((name) => name.includes('hub-backup'))
    expect(readFileSync(join(dirname(file), copy!), 'utf8')).to.equal('{}\n')
  })

  it('refers to the key by variable if set and writes it only on request', async () => {
    const ada = collector({ HUB_API_KEY: KEY })
    await ada.json('install', 'gemini-cli')
    expect(read(ada, 'gemini-cli')).to.include('"Bearer $HUB_API_KEY"').and.not.include(KEY)
    const bea = collector()
    await bea.json('install', 'gemini-cli', '--inline-key')
    expect(read(bea, 'gemini-cli')).to.include(`Bearer ${KEY}`)
    const { exit } = await bea.hub(['install', 'cursor', '--scope', 'project', '--inline-key'])
    expect(exit).to.equal(2)
  })
})

const KEY = `ahk_${'k'.repeat(49)}`

/** Returns true if `after` is `before` with one insertion. */
function without(after: string, before: string): boolean {
  const extra = after.length - before.length
  for (let at = 0; at <= before.length; at++) {
    if (after.slice(0, at) === before.slice(0, at) && after.slice(at + extra) === before.slice(at))
      return true
  }
  return false
}
