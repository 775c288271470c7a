import { execFile } from 'node:child_process'
import {
  chmod,
  cp,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  truncate,
  writeFile,
} from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { backupName, openStore } from '../../../core/backup/backup-store.ts'
import { createBackup } from '../../../core/backup/create-backup.ts'
import { drillRestore } from '../../../core/backup/drill-restore.ts'
import type { Manifest } from '../../../core/backup/manifest.ts'
import { removeRestored, restoreBackup } from '../../../core/backup/restore-backup.ts'
import { verifyRestored } from '../../../core/backup/verify-restored.ts'
import { systemClock } from '../../../core/clock.ts'
import { readOperatingFigures } from '../../../core/finance/operating-figures.ts'
import { RetainedCheckpoints } from '../../../core/ledger/retained-checkpoints.ts'
import { verifySince } from '../../../core/ledger/verify/incremental.ts'
import { ConfigError } from '../../../core/runtime/config-error.ts'
import { type FreshDatabase, freshDatabase } from '../../support/postgres.ts'
import { order, sampleLedger } from '../ledger/fixture.ts'
import { newSigner } from '../ledger/verify/tampering.ts'

const run = promisify(execFile)
const PASSPHRASE = 'correct horse battery staple'

describe('a backup', () => {
  let database: FreshDatabase
  let folder: string
  let manifest: Manifest
  /** Entries that were acknowledged before the backup started, and after it had ended. */
  const acknowledged = { before: 0n, after: 0n }
  const at = (...path: string[]): string => join(folder, ...path)
  const headOf = async (): Promise<bigint> =>
    (await database.pool.query<{ seq: bigint }>('SELECT sum(seq)::bigint AS seq FROM ledger.head'))
      .rows[0]!.seq

  const deps = async (place = at('store')) => ({
    store: (await openStore(place)).store,
    passphrase: PASSPHRASE,
    databaseUrl: database.url,
    dataDir: at('data'),
    version: '0.0.0-test',
    clock: systemClock,
  })

  before(async () => {
    database = await freshDatabase()
    folder = await mkdtemp(join(tmpdir(), 'agenthub-backup-'))
    await chmod(folder, 0o711) // root runs the server as another user
    await mkdir(at('data'))
    await writeFile(at('data', 'signing-key'), 'a secret key\n')
    await writeFile(at('data', 'unrelated'), 'not backed up')
    const { ledger, owner, payee } = await sampleLedger(database.pool)
    const retained = new RetainedCheckpoints(at('data'))
    await verifySince(database.pool, { key: newSigner(), retained })
    const done = new AbortController()
    const load = (async () => {
      while (!done.signal.aborted) {
        const call = order(owner, payee, 50n)
        await ledger.reserve(call)
        await ledger.settle(call, 40n)
      }
    })()
    acknowledged.before = await headOf()
    manifest = await createBackup(await deps())
    acknowledged.after = await headOf()
    done.abort()
    await load
  })
  after(async () => {
    await rm(folder, { recursive: true, force: true })
    await database.drop()
  })

  /** Copies the backup, changes the copy and restores it. @returns the refusal */
  async function refusal(change: (backup: string) => Promise<void>, target = at('refused')) {
    await rm(at('copy'), { recursive: true, force: true })
    await cp(at('store'), at('copy'), { recursive: true })
    await change(at('copy', manifest.name))
    const { store } = await openStore(at('copy'))
    const error: unknown = await restoreBackup({ store, passphrase: PASSPHRASE }, target).catch(
      (caught: unknown) => caught,
    )
    expect(error).to.be.an.instanceOf(ConfigError)
    return (error as Error).message
  }

  it('made under load is sound, and has all that was acknowledged before it', async () => {
    expect(acknowledged.after > acknowledged.before, 'calls during the backup').to.equal(true)
    const { store } = await openStore(at('store'))
    let filesBefore: readonly string[] = []
    const watched = {
      ...store,
      async get(path: string) {
        if (path.endsWith('/database.000000')) filesBefore = await readdir(at('restored'))
        return store.get(path)
      },
    }
    const restore = () =>
      restoreBackup({ store: watched, passphrase: PASSPHRASE }, at('restored')).catch(
        ({ message }: Error) => message,
      )
    const results = await Promise.all([restore(), restore()])
    const restored = results.find((result) => typeof result !== 'string')!
    expect(results.find((result) => typeof result === 'string')).to.match(/is not empty/)
    expect(filesBefore, 'no database without its keys').to.have.members([
      'checkpoints',
      'postgres.new',
      'signing-key',
    ])
    try {
      const report = await verifyRestored(restored, { isDisposable: true })
      expect(report.verification.checks.filter(({ bad }) => bad > 0n)).to.deep.equal([])
      expect(report).to.include({ ok: true, outgoingPaused: true })
      expect(report.entries >= acknowledged.before).to.equal(true)
      expect(await readFile(at('restored', 'signing-key'), 'utf8')).to.equal('a secret key\n')
      expect((await stat(at('restored', 'signing-key'))).mode & 0o777).to.equal(0o600)
      expect(await readdir(at('restored'))).to.have.members([
        'checkpoints',
        'postgres',
        'signing-key',
      ])
      const ahead = { ...manifest.ledger, heads: [{ shard: 0, seq: '999999999' }] }
      const expected = { ...restored, manifest: { ...manifest, ledger: ahead } }
      const { incompleteShards, ok } = await verifyRestored(expected, { isDisposable: true })
      expect({ incompleteShards, ok }).to.deep.equal({ incompleteShards: [0], ok: false })
    } finally {
      await removeRestored(restored)
    }
  })

  it('contains nothing that can be read without its passphrase', async () => {
    const files = await readdir(at('store', manifest.name))
    expect(files).to.include.members(['manifest.json', 'files.000000', 'database.000000'])
    for (const file of files) {
      const bytes = await readFile(at('store', manifest.name, file))
      expect(bytes.includes('a secret key'), file).to.equal(false)
      expect(bytes.includes('liabilities'), file).to.equal(false)
    }
    const { store } = await openStore(at('store'))
    const attempt = restoreBackup({ store, passphrase: 'another passphrase' }, at('refused'))
    const { message } = await attempt.then(
      () => new Error('accepted'),
      (error: Error) => error,
    )
    expect(message).to.equal('The passphrase is not the one of this backup.')
    expect(await readdir(folder)).not.to.include('refused')
  })

  it('that was truncated, altered or is incomplete is refused, and leaves nothing', async () => {
    const last = `database.${String(manifest.parts.database.length - 1).padStart(6, '0')}`
    expect(await refusal((backup) => truncate(join(backup, last), 1_000))).to.match(
      new RegExp(`^The backup is truncated: ${manifest.name}/${last} has 1000 of \\d+ bytes.$`),
    )
    const flip = async (backup: string) => {
      const bytes = await readFile(join(backup, last))
      bytes[500]! ^= 1
      await writeFile(join(backup, last), bytes)
    }
    expect(await refusal(flip)).to.match(/altered or is damaged: .* has another checksum/)
    expect(await refusal((backup) => rm(join(backup, last)))).to.match(/^The backup is incomplete/)
    const forge = async (backup: string) => {
      const path = join(backup, 'manifest.json')
      const text = await readFile(path, 'utf8')
      await writeFile(path, text.replace('0.0.0-test', '9.9.9-test'))
    }
    expect(await refusal(forge)).to.equal('The manifest of the backup was altered.')
    expect(await refusal((backup) => rm(join(backup, 'manifest.json')))).to.match(
      /^There is no complete backup in /,
    )
    expect(await refusal((backup) => truncate(join(backup, 'manifest.json'), 99))).to.match(
      /^The manifest of the backup is damaged/,
    )
    expect(await readdir(folder)).not.to.include('refused')
  })

  it('never overwrites a directory or another backup', async () => {
    expect(await refusal(async () => {}, at('data'))).to.match(/data is not empty. Restore into/)
    expect(await readFile(at('data', 'unrelated'), 'utf8')).to.equal('not backed up')
    const clock = { now: () => new Date(manifest.at) }
    const again = createBackup({ ...(await deps()), clock })
    const { message } = await again.then(
      () => new Error('accepted'),
      (error: Error) => error,
    )
    expect(message).to.match(/cannot be created: it exists already.$/)
    expect(await readdir(at('store', manifest.name))).to.include('manifest.json')
  })

  it('that is complete stays, even if it cannot be recorded', async () => {
    const rename = (from: string, to: string) =>
      database.admin.query(`ALTER FUNCTION hub.${from} RENAME TO ${to}`)
    await rename('record_backup', 'no_record_backup')
    try {
      const place = await deps(at('unrecorded'))
      const { message } = await createBackup(place).then(
        () => new Error('accepted'),
        (error: Error) => error,
      )
      expect(message).to.match(/unrecorded\/backup-\w+ is complete, but was not recorded: /)
      expect(await place.store.list()).to.have.length(1)
    } finally {
      await rename('no_record_backup', 'record_backup')
    }
  })

  it('that finds the disk full is removed, and earlier ones stay', async function () {
    const disk = at('disk')
    await mkdir(disk)
    const mounted = await run('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', disk]).catch(
      () => {},
    )
    if (!mounted) return this.skip() // needs root
    try {
      const place = await deps(disk)
      const error = await createBackup(place).then(
        () => new Error('accepted'),
        (e: Error) => e,
      )
      expect(error.message).to.match(/disk has no room for the backup: it was removed/)
      expect(await readdir(disk)).to.deep.equal([])
      const { store } = await openStore(at('store'))
      const target = join(disk, 'hub')
      const restored = await restoreBackup({ store, passphrase: PASSPHRASE }, target).then(
        () => new Error('accepted'),
        (e: Error) => e,
      )
      expect(restored.message).to.match(/is full: what was restored has been removed/)
      expect(await readdir(disk)).to.deep.equal([])
    } finally {
      await run('umount', [disk])
    }
  })

  it('is rehearsed once a week, and one that is not sound is an error', async () => {
    const settings = { target: at('store'), passphrase: PASSPHRASE }
    const ages = async () => {
      const { backups } = await readOperatingFigures(database.pool)
      return Object.fromEntries(backups.map(({ kind, ageSeconds }) => [kind, ageSeconds]))
    }
    await database.admin.query("UPDATE hub.migration SET applied_at = now() - interval '9 days'")
    expect((await ages())['drill']).to.be.greaterThan(777_000)
    expect((await ages())['backup']).to.be.lessThan(600)
    await drillRestore(database.pool, settings)
    expect((await ages())['drill']).to.be.lessThan(60)
    await drillRestore(database.pool, { ...settings, target: at('nowhere') }) // not due
    await database.admin.query("UPDATE hub.backup_run SET succeeded_at = now() - interval '8 days'")
    const failed = await drillRestore(database.pool, { ...settings, target: at('nowhere') }).then(
      () => 'passed',
      (error: Error) => error.message,
    )
    expect(failed).to.match(/^There is no complete backup in .*nowhere\.$/)
    expect((await ages())['drill']).to.be.greaterThan(690_000)
  })

  it('needs a login that may replicate, and says how to get one', async () => {
    await database.admin.query("CREATE ROLE no_replica LOGIN PASSWORD 'x' IN ROLE hub_app")
    try {
      const url = new URL(database.url)
      url.username = 'no_replica'
      url.password = 'x'
      const attempt = createBackup({ ...(await deps(at('other'))), databaseUrl: url.href })
      const { message } = await attempt.then(
        () => new Error('accepted'),
        (e: Error) => e,
      )
      expect(message).to.include('ALTER ROLE "no_replica" REPLICATION')
      expect(await readdir(at('other'))).to.deep.equal([])
    } finally {
      await database.admin.query('DROP ROLE no_replica')
    }
  })
})

describe('names of backups', () => {
  it('sort by time', () => {
    expect(backupName(new Date('2026-11-23T17:05:09.123Z'))).to.equal('backup-20261123T170509Z')
  })
})
