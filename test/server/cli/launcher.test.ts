import { execFile } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { CLIENTS } from '../../../server/cli/install/clients.ts'
import { LIST_TOOLS } from '../../../server/cli/install/launcher.ts'
import { useHub } from '../../support/suite.ts'
import { MAIN, type User, usersOf } from './hub.ts'

const run = promisify(execFile)

interface Printed {
  readonly client: string
  readonly entry: { readonly command?: string; readonly cmd?: string; readonly args?: string[] }
}

/** Lists the tools through a command, as an assistant does, without a shell's environment. */
async function toolsOf(command: string, args: readonly string[], home: string): Promise<number> {
  const lines = LIST_TOOLS.map((each) => JSON.stringify({ jsonrpc: '2.0', ...each }))
  const shell = `printf '%s\n' "$1" "$2" "$3" | { shift 3; exec "$@"; }`
  const { stdout } = await run('/bin/sh', ['-c', shell, 'sh', ...lines, command, ...args], {
    cwd: '/',
    env: { HOME: home, PATH: '/usr/bin:/bin' },
  })
  const answer = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
    .find(({ id }) => id === 2)
  return answer.result.tools.length
}

describe('the command that hub install writes', () => {
  const hub = useHub()
  const { user } = usersOf(() => hub().url)
  const entries = async (who: User): Promise<readonly Printed[]> => {
    const ids = CLIENTS.map(({ id }) => id)
    return (await who.json('install', '--print', ...ids))['clients'] as readonly Printed[]
  }

  it('lists nine tools for every assistant, from elsewhere without a shell', async () => {
    const ada = user()
    await ada.json('register')
    const seen = new Set<string>()
    for (const { entry } of await entries(ada)) {
      const command = entry.command ?? entry.cmd
      const line = JSON.stringify([command, entry.args])
      if (command === undefined || seen.has(line)) continue // one try for the same command
      seen.add(line)
      expect(await toolsOf(command, entry.args!, ada.home)).to.equal(9)
    }
    expect(seen).to.have.length(1)
  })

  it('names the folder of the keys if it is not the default one', async () => {
    const ada = user()
    ada.env['HUB_CONFIG_DIR'] = join(ada.home, 'elsewhere')
    await ada.json('register')
    mkdirSync(join(ada.home, '.cursor'))
    const { err } = await ada.hub(['install', 'cursor'])
    expect(err).to.include('It works: 9 tools')
    const file = readFileSync(join(ada.home, '.cursor/mcp.json'), 'utf8')
    expect(file).to.include('--config-dir').and.include('elsewhere')
  })

  it('is not written if it does not start', async () => {
    const ada = user()
    await ada.json('register')
    mkdirSync(join(ada.home, '.cursor'))
    const broken = join(ada.home, 'hub.mjs')
    // Starts install as always, and fails as soon as an assistant starts it.
    writeFileSync(
      broken,
      `if (process.argv.includes('mcp')) process.exit(1)\nawait import(${JSON.stringify(MAIN)})\n`,
    )
    chmodSync(broken, 0o755)
    const result = await run(process.execPath, [broken, 'install', 'cursor'], {
      env: ada.env,
      cwd: ada.home,
    }).catch((error: { readonly stderr: string }) => error)
    expect(result.stderr).to.include('This command does not start')
    expect(existsSync(join(ada.home, '.cursor/mcp.json'))).to.equal(false)
  })

  it('names npx nowhere, and every writer names the page of its vendor', async () => {
    const ada = user()
    await ada.json('register')
    expect(JSON.stringify(await entries(ada))).to.not.include('npx')
    for (const { id, source } of CLIENTS) {
      expect(source[0], id).to.match(/^https:\/\//)
      expect(source[1], id).to.match(/^2026-\d\d-\d\d$/)
    }
  })
})
