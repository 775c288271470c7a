import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts'
import { FaultProxy } from '../../support/fault-proxy.ts'
import { type FreshDatabase, freshDatabase } from '../../support/postgres.ts'
import { REAL_MONEY } from '../boot/real-money.ts'

/** One call of each script of package.json that runs the hub on a database. */
const COMMANDS: Readonly<Record<string, readonly string[]>> = {
  start: ['serve'],
  jobs: ['jobs'],
  migrate: ['migrate'],
  backup: ['backup', '/nonexistent/backups'],
  ledger: ['ledger', 'verify'],
  cluster: ['cluster', 'status'],
  calls: ['calls', 'list'],
  payments: ['payments', 'status'],
  listings: ['listings', 'status'],
  keys: ['keys', 'list'],
  plugins: ['plugins', 'list'],
  tenders: ['tenders', 'status'],
  analysis: ['analysis', 'costs'],
}
/** Scripts that open the database as others do: the same code tells them that it refuses. */
const SAME = new Set(['cluster', 'calls', 'payments', 'listings', 'keys', 'analysis'])
/** Scripts that need no database of the operator. */
const OTHERS = ['demo', 'restore']

const NOBODY = 'http://127.0.0.1:9'
/** Settings, by variable, with which a hub with real money finds nobody at an address. */
const UNREACHABLE: Readonly<Record<string, (url: string) => Readonly<Record<string, string>>>> = {
  DATABASE_URL: (url) => ({
    DATABASE_URL: url.replace(/:\d+\//, ':9/'),
    DATABASE_DIRECT_URL: url,
  }),
  X402_FACILITATOR_URL: () => ({ GAS_WALLET_KEY: '', X402_FACILITATOR_URL: NOBODY }),
  SPEND_WALLET_SIGNER: () => ({
    SPEND_WALLET_KEY: '',
    SPEND_WALLET_SIGNER: NOBODY,
    SPEND_WALLET_ADDRESS: privateKeyToAddress(generatePrivateKey()),
  }),
}

/** Module that leaves a rejection unhandled once the process watches for them. */
const LEAK = `data:text/javascript,${encodeURIComponent(`
  const timer = setInterval(() => {
    if (process.listenerCount('uncaughtException') === 0) return
    clearInterval(timer)
    void Promise.reject(new Error('planted'))
  }, 100)`)}`

interface Ended {
  readonly code: number | null
  readonly output: string
}

describe('npm run', function () {
  this.timeout(300_000)
  let database: FreshDatabase
  let dataDir: string
  let proxy: FaultProxy
  const children: ChildProcess[] = []
  before(async () => {
    database = await freshDatabase()
    dataDir = await mkdtemp(join(tmpdir(), 'agenthub-test-'))
    proxy = await FaultProxy.start(Number(new URL(database.url).port))
  })
  after(async () => {
    for (const child of children) child.kill('SIGKILL')
    await proxy.close()
    await database.drop()
    await rm(dataDir, { recursive: true, force: true })
  })

  const spawnHub = (
    args: readonly string[],
    env: Readonly<Record<string, string>>,
    options: readonly string[] = [],
  ): { readonly child: ChildProcess; readonly ended: Promise<Ended> } => {
    const fixed = {
      PATH: '/usr/bin:/bin',
      HUB_DATA_DIR: dataDir,
      HUB_PORT: '0',
      HUB_BACKUP_PASSPHRASE: 'a-Passphrase-0f-4-test',
    }
    const child = spawn(process.execPath, [...options, 'server/main.ts', ...args], {
      env: { ...fixed, HUB_DRAIN_DELAY: '0', HUB_DRAIN_SECONDS: '1', ...env },
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    children.push(child)
    const pieces: string[] = []
    child.stderr.on('data', (piece: Buffer) => pieces.push(piece.toString()))
    const ended = once(child, 'close').then(([code]) => ({
      code: code as number | null,
      output: pieces.join(''),
    }))
    return { child, ended }
  }

  it('knows every command on a database', async () => {
    const { scripts } = JSON.parse(await readFile('package.json', 'utf8')) as {
      readonly scripts: Readonly<Record<string, string>>
    }
    const running = Object.keys(scripts).filter((name) => scripts[name]!.includes('server/main.ts'))
    expect(running).to.have.members([...Object.keys(COMMANDS), ...OTHERS])
  })

  for (const [mode, reason] of [
    ['hangs', 'timeout expired'],
    ['refuses', 'connect ECONNREFUSED'],
  ] as const) {
    const logs = mode === 'hangs' ? ', and logs unhandled rejections' : ''
    it(`ends with 1 while the database ${mode}${logs}`, async () => {
      await proxy.fail(mode)
      const url = new URL(database.url)
      url.port = String(proxy.port)
      const env = { ...REAL_MONEY, DATABASE_URL: url.href }
      const names = Object.keys(COMMANDS).filter((name) => mode === 'hangs' || !SAME.has(name))
      const all = names.map((name) => spawnHub(COMMANDS[name]!, env, ['--import', LEAK]).ended)
      for (const [i, { code, output }] of (await Promise.all(all)).entries()) {
        expect(code, `${names[i]}: ${output}`).to.equal(1)
        expect(output, names[i])
          .to.match(/^The database cannot be reached: /m)
          .and.include(reason)
        if (mode === 'refuses') continue // the process may end before the module has planted it
        expect(output, names[i]).to.include('"origin":"unhandledRejection"').and.include('planted')
      }
    })
  }

  it('backup and restore end with 1 and one sentence without their bucket', async () => {
    const bucket = {
      HUB_BACKUP_ENDPOINT: NOBODY,
      AWS_ACCESS_KEY_ID: 'a',
      AWS_SECRET_ACCESS_KEY: 'b',
    }
    const env = { ...REAL_MONEY, ...bucket, DATABASE_URL: database.url }
    const target = 's3://backups/hub'
    const restored = ['restore', target, '--to', `${dataDir}/restored`]
    const region = { AWS_REGION: 'eu-central-1' }
    for (const [command, own, reason] of [
      [['backup', target], {}, 'Region is missing'],
      [['backup', target], region, 'ECONNREFUSED'],
      [restored, region, 'ECONNREFUSED'],
    ] as const) {
      const { code, output } = await spawnHub(command, { ...env, ...own }).ended
      expect(code, output).to.equal(1)
      expect(output).to.match(/^The bucket of s3:\S+ cannot be listed: .{10,300}\n$/)
      expect(output).to.include(reason)
    }
  })

  it('serve and jobs print help, or refuse unknown arguments, instead of starting', async () => {
    for (const name of ['serve', 'jobs']) {
      const help = await spawnHub([name, '--help'], {}).ended
      expect(help, name).to.deep.equal({ code: 0, output: '' })
      const { code, output } = await spawnHub([name, '--port'], {}).ended
      expect(code, name).to.equal(1)
      expect(output, name).to.match(/^Unknown argument --port\.\nusage: node server\/main\.ts/)
    }
  })

  it('ends with 1 and one sentence without a database', async () => {
    const names = ['start', 'migrate', 'ledger', 'tenders'] as const
    const all = names.map(
      (name) => spawnHub(COMMANDS[name]!, { HUB_DATA_DIR: '/dev/null/none' }).ended,
    )
    for (const [i, { code, output }] of (await Promise.all(all)).entries()) {
      expect(code, names[i]).to.equal(1)
      expect(output, names[i]).to.match(/^(?:Creating a sandbox in .+\n)?[A-Z].{10,200}\n$/)
    }
  })

  it('start and jobs end with 1 and name what they cannot reach, also with workers', async () => {
    const serving = { start: {}, jobs: {}, workers: { HUB_WORKERS: '2' } } as const
    const all = Object.entries(UNREACHABLE).flatMap(([variable, settings]) =>
      Object.entries(serving).map(async ([name, own]) => {
        if (name === 'workers' && variable !== 'SPEND_WALLET_SIGNER') return // the same code
        const env = { ...REAL_MONEY, DATABASE_URL: database.url, ...settings(database.url), ...own }
        const { code, output } = await spawnHub([name === 'jobs' ? 'jobs' : 'serve'], env).ended
        expect(code, `${name} without ${variable}: ${output}`).to.equal(1)
        expect(output).to.match(/^(The database cannot be reached|[A-Z_0-9]+(?: \(.*\))?[: ])/m)
        if (variable !== 'DATABASE_URL') expect(output).to.include(variable)
      }),
    )
    await Promise.all(all)
  })

  it('start ends with 1 if its port is taken', async () => {
    await proxy.fail('hangs') // listens
    const env = { ...REAL_MONEY, DATABASE_URL: database.url, HUB_PORT: String(proxy.port) }
    const { code, output } = await spawnHub(['serve'], env).ended
    expect([code, output]).to.deep.equal([1, output])
    expect(output).to.include(String(proxy.port))
  })

  it('jobs ends with 1 after a rejection that no code handles', async () => {
    const { ended } = spawnHub(['jobs'], { ...REAL_MONEY, DATABASE_URL: database.url }, [
      '--import',
      LEAK,
    ])
    const { code, output } = await ended
    expect([code, output]).to.deep.equal([1, output])
    expect(output).to.include('"origin":"unhandledRejection"')
  })

  it('jobs ends with 1 when a job cannot be scheduled', async () => {
    await database.admin.query('ALTER FUNCTION pgboss.create_queue RENAME TO no_queue')
    const { ended } = spawnHub(['jobs'], { ...REAL_MONEY, DATABASE_URL: database.url })
    const { code, output } = await ended
    expect([code, output]).to.deep.equal([1, output])
    expect(output).to.include('pgboss.create_queue').and.not.include('after calling end')
  })
})
