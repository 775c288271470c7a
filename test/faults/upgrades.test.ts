import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import nock from 'nock'
import { freePort } from '../../core/runtime/net.ts'
import { ask } from '../support/ask.ts'
import { eventually } from '../support/eventually.ts'
import { skip } from '../support/skip.ts'

const START_MS = 240_000
/** Migrations that it lists never change: databases since its first version are upgraded. */
const LANDED = 'core/db/landed.sha256'
const HELLO = { words: 'hello' }

const git = (...args: readonly string[]): readonly string[] =>
  spawnSync('git', args, { encoding: 'utf8' }).stdout.split('\n').filter(Boolean)

/** Returns all tagged versions, and the oldest commit whose databases are upgraded. */
function earlierVersions(): readonly string[] {
  const oldest = git('log', '--diff-filter=A', '--format=%H', '--', LANDED).slice(-1)
  return [...git('tag', '--list', 'v*'), ...oldest]
}

/** Sandbox of one version in a process group of its own. */
class SandboxProcess {
  readonly #child: ChildProcess
  readonly #url: string
  output = ''

  constructor(folder: string, dataDir: string, port: number) {
    this.#url = `http://127.0.0.1:${port}`
    const { PATH = '', HOME = '' } = process.env
    const own = { HUB_DATA_DIR: dataDir, HUB_PORT: String(port), HUB_BROWSERS: '0' }
    this.#child = spawn('npm', ['start'], { cwd: folder, env: { PATH, HOME, ...own } })
    for (const stream of [this.#child.stdout!, this.#child.stderr!]) {
      stream.setEncoding('utf8').on('data', (text: string) => (this.output += text))
    }
  }

  /** Waits until it serves, and returns the key that it prints. */
  async ready(): Promise<string> {
    let key: string | undefined
    await eventually(() => {
      if (this.#child.exitCode !== null) throw new Error(this.output.slice(-3_000))
      key = /ahk_\w{20,}/.exec(this.output)?.[0]
      return key !== undefined && this.#isReady()
    }, START_MS).catch((cause: Error) => {
      throw new Error(`not ready: ${this.output.slice(-3_000)}`, { cause })
    })
    return key!
  }

  async #isReady(): Promise<boolean> {
    return fetch(`${this.#url}/health`).then(
      ({ ok }) => ok,
      () => false,
    )
  }

  ask(path: string, key: string, body?: object) {
    return ask(this.#url, path, { key, ...(body && { body }) })
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null) return
    const ended = once(this.#child, 'close')
    this.#child.kill('SIGTERM')
    await ended
  }
}

describe('a data directory of an earlier version', function () {
  this.timeout(1_800_000)
  const folder = mkdtempSync(join(tmpdir(), 'agenthub-test-upgrade-'))
  const running: SandboxProcess[] = []
  before(() => nock.restore())
  after(async () => {
    nock.activate()
    await Promise.all(running.map((each) => each.stop()))
    rmSync(folder, { recursive: true, force: true })
  })

  /** Checks out and installs a version, as its README says. */
  const install = (version: string, place: string): void => {
    mkdirSync(place)
    const archive = execFileSync('git', ['archive', version], { maxBuffer: 1 << 30 })
    execFileSync('tar', ['-x', '-C', place], { input: archive })
    const quiet = ['--omit=dev', '--no-audit', '--no-fund', '--loglevel=error']
    execFileSync('npm', ['ci', ...quiet], { cwd: place, stdio: ['ignore', 'ignore', 'pipe'] })
  }
  const start = async (place: string, dataDir: string): Promise<SandboxProcess> => {
    const started = new SandboxProcess(place, dataDir, await freePort())
    running.push(started)
    return started
  }

  const versions = earlierVersions()
  if (versions.length === 0) {
    it('is upgraded', function () {
      skip(this, 'needs the history of the repository')
    })
  }
  for (const [i, version] of versions.entries()) {
    it(`of ${version.slice(0, 12)} keeps keys, calls and credits, and a sound ledger`, async () => {
      const place = join(folder, `version-${i}`)
      const dataDir = join(folder, `data-${i}`)
      install(version, place)
      const earlier = await start(place, dataDir)
      const key = await earlier.ready()
      const paid = await earlier.ask('/proxy/echo/say', key, HELLO)
      expect(paid.status, paid.text).to.equal(200)
      const balance = Number(paid.headers['x-balance-microdollars'])
      const call = String(paid.headers['x-call-id'])
      await earlier.stop()

      const current = await start('.', dataDir)
      await current.ready()
      const again = await current.ask('/proxy/echo/say', key, HELLO)
      expect(again.status, again.text).to.equal(200)
      const charged = Number(again.headers['x-charged-microdollars'])
      expect(Number(again.headers['x-balance-microdollars'])).to.equal(balance - charged)
      expect((await current.ask(`/v1/calls/${call}`, key)).body).to.include({ state: 'charged' })
      const verified = spawnSync('npm', ['run', 'ledger', '--', 'verify'], {
        encoding: 'utf8',
        env: { ...process.env, HUB_DATA_DIR: dataDir },
      })
      expect(verified.status, verified.stdout + verified.stderr).to.equal(0)
      await current.stop()
    })
  }
})
