import { expect } from 'chai'
import { parseNote, splitNotes } from '../../../core/ledger/checkpoint.ts'
import { RetainedCheckpoints } from '../../../core/ledger/retained-checkpoints.ts'
import { verifySince } from '../../../core/ledger/verify/incremental.ts'
import { ledgerCommand } from '../../../server/commands/ledger/index.ts'
import { REWRITE, tamper } from '../../core/ledger/verify/tampering.ts'
import { useHub } from '../../support/suite.ts'

describe('the published checkpoints', () => {
  const hub = useHub()

  const get = (query = '') => fetch(`${hub().url}/v1/ledger/checkpoints${query}`)
  const sign = () =>
    verifySince(hub().database.pool, {
      key: hub().hub.secretKeys.signingKey(),
      retained: new RetainedCheckpoints(hub().dataDir),
    })
  async function verify(...args: string[]): Promise<readonly [number, string]> {
    let output = ''
    const write = (text: string) => void (output += text)
    const connect = async () => hub().database.pool
    const command = ['verify', ...args]
    return [await ledgerCommand(connect, command, write, undefined, hub().dataDir), output]
  }

  it('are the newest of each shard, for everyone, now or by day', async () => {
    const { keyId } = await hub().agent()
    await hub().credit(keyId, 5_000n)
    await sign()
    const response = await get()
    expect(response.status).to.equal(200)
    expect(response.headers.get('content-type')).to.equal('text/plain; charset=utf-8')
    expect(response.headers.get('access-control-allow-origin')).to.equal('*')
    const notes = splitNotes(await response.text()).map((note) => parseNote(note)!)
    const { rows } = await hub().database.pool.query<{ shard: number; seq: bigint }>(
      'SELECT shard, seq FROM ledger.head WHERE seq > 0 ORDER BY shard',
    )
    expect(notes.map(({ shard, seq }) => ({ shard, seq }))).to.deep.equal(rows)
    expect(await (await get('?day=2020-01-01')).text()).to.equal('')
    expect((await get('?day=yesterday')).status).to.equal(422)
  })

  it('verify the ledger from their URL and from the data directory', async () => {
    await sign()
    const place = `${hub().url}/v1/ledger/checkpoints`
    expect(await verify('--checkpoints', place)).to.include(0)
    expect(await verify('--checkpoints', `${place}/none`)).to.satisfy(
      ([code, output]: readonly [number, string]) => code === 2 && output.includes('status 404'),
    )
    const { database } = hub()
    for (const table of ['journal', 'seal', 'head', 'balance', 'checkpoint', 'verified_balance']) {
      await database.admin.query(`CREATE TABLE kept_${table} AS TABLE ledger.${table}`)
    }
    await tamper(
      database,
      'UPDATE ledger.journal SET endpoint = endpoint + 1 WHERE seq = 1',
      ...REWRITE,
      'DELETE FROM ledger.checkpoint',
      'DELETE FROM ledger.verified_balance',
    )
    const [code, output] = await verify()
    expect(code).to.equal(1)
    expect(output).to.match(/BAD {2}every checkpoint .* the seal differs: history was rewritten/)
    for (const table of ['journal', 'seal', 'head', 'balance', 'checkpoint', 'verified_balance']) {
      await tamper(
        database,
        `DO $$ BEGIN DELETE FROM ledger.${table};
           INSERT INTO ledger.${table} SELECT * FROM kept_${table}; END $$`,
      )
    }
    expect((await verify())[0]).to.equal(0)
  })

  it('have a notice on the status page if verification fails', async () => {
    const record = (failures: string[]) =>
      hub().database.pool.query('SELECT ledger.record_verification($1)', [failures])
    const page = async () => (await fetch(`${hub().url}/status`)).text()
    await record(['every row is as it was written: 1, first shard 0 seq 1'])
    expect(await page()).to.include('The verification of the ledger failed')
    await record([])
    expect(await page()).not.to.include('The verification of the ledger failed')
  })
})
