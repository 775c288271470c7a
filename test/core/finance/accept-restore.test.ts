import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { RetainedCheckpoints } from '../../../core/ledger/retained-checkpoints.ts'
import { readLedgerId } from '../../../core/ledger/verify/checkpoints.ts'
import { verifySince } from '../../../core/ledger/verify/incremental.ts'
import { SIGNED_HEADS } from '../../../core/ledger/verify/sign-heads.ts'
import { OutgoingSwitch } from '../../../core/payments/operations/outgoing-switch.ts'
import { ledgerCommand } from '../../../server/commands/ledger/index.ts'
import { type FreshDatabase, freshDatabase } from '../../support/postgres.ts'
import { order, sampleLedger } from '../ledger/fixture.ts'
import { broken, newSigner, REWRITE, REWRITE_SUMS, tamper } from '../ledger/verify/tampering.ts'

const ACCEPT = ['accept-restore', '--author', 'olga', '--reason', 'the disk failed']

describe('a restored backup', () => {
  const key = newSigner()
  let database: FreshDatabase
  let dataDir: string
  beforeEach(async () => {
    database = await freshDatabase()
    dataDir = await mkdtemp(join(tmpdir(), 'agenthub-test-'))
  })
  afterEach(async () => {
    await database.drop()
    await rm(dataDir, { recursive: true, force: true })
  })

  const since = () =>
    verifySince(database.pool, { key, retained: new RetainedCheckpoints(dataDir) })
  async function accept(): Promise<readonly [number, string]> {
    let output = ''
    const write = (text: string) => (output += text)
    const connect = async () => database.pool
    return [await ledgerCommand(connect, ACCEPT, write, write, dataDir), output]
  }

  /**
   * Signs two checkpoints, and removes all entries after the first, as a restore does.
   * @returns the last entry that is left
   */
  async function restore(): Promise<bigint> {
    const { pool } = database
    const { ledger, owner, payee } = await sampleLedger(pool)
    const { rows } = await pool.query<{ seq: bigint }>('SELECT seq FROM ledger.head')
    const { seq: first } = rows[0]!
    await since()
    const call = order(owner, payee, 50n)
    await ledger.reserve(call)
    await ledger.settle(call, 40n)
    expect(broken(await since())).to.deep.equal({})
    await tamper(
      database,
      `DELETE FROM ledger.journal WHERE seq > ${first}`,
      `DELETE FROM ledger.seal WHERE seq_to > ${first}`,
      `UPDATE ledger.head SET seq = ${first}, hash = '\\x01'`,
      ...REWRITE,
      `DELETE FROM ledger.checkpoint WHERE seq > ${first}`,
      ...REWRITE_SUMS,
      'DELETE FROM ledger.signed_head WHERE index = 1',
      'DELETE FROM ledger.heads_checkpoint WHERE size = 2',
      'UPDATE ledger.tree SET size = 1 WHERE shard = -1',
      'UPDATE ledger.tile SET hashes = substring(hashes FOR 32) WHERE shard = -1',
    )
    return first
  }

  it('is verified again once a person accepts it, with payments paused', async () => {
    const first = await restore()
    expect(JSON.stringify(broken(await since()))).to.include('history was cut off')
    const [code, output] = await accept()
    expect([code, output], output).to.deep.equal([0, output])
    expect(output).to.match(/^Abandoned: shard 0, entries up to \d+, signed at /)
    expect(broken(await since())).to.deep.equal({})
    expect(await new OutgoingSwitch(database.pool).state()).to.include({ paused: true })
    const { rows } = await database.pool.query(
      'SELECT act, reason, via FROM hub.audit ORDER BY seq DESC LIMIT 1',
    )
    expect(rows[0]).to.include({ act: 'backup.accept', reason: 'the disk failed' })
    const folder = join(dataDir, 'checkpoints', await readLedgerId(database.pool), 'abandoned')
    expect((await readdir(folder)).sort()).to.deep.equal([`0-${first + 2n}-0`, 'heads'])
    expect((await accept())[1]).to.match(/^Not accepted: The database has all entries/)
  })

  it('is accepted if only the root over all shards is ahead, as after a crash', async () => {
    const first = await restore()
    const retained = new RetainedCheckpoints(dataDir)
    const ledger = await readLedgerId(database.pool)
    const ahead = (await retained.all(ledger)).filter(({ seq }) => seq > first)
    await retained.abandon(ledger, ahead)
    expect(broken(await since())).to.have.property(SIGNED_HEADS)
    const [code, output] = await accept()
    expect(code, output).to.equal(0)
    expect(broken(await since())).to.deep.equal({})
  })

  it('is refused if what it contains was rewritten', async () => {
    await restore()
    await tamper(
      database,
      'UPDATE ledger.journal SET payee = 3 WHERE payee > 1000',
      ...REWRITE,
      ...REWRITE_SUMS,
    )
    const [code, output] = await accept()
    expect(code).to.equal(1)
    expect(output).to.match(/^Not accepted: The restored ledger is not sound: /)
    expect(JSON.stringify(broken(await since()))).to.include('history was')
  })
})
