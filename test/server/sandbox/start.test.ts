import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { lockFile } from '../../../core/db/lock.ts'
import { createLog } from '../../../core/log.ts'
import { startSandbox } from '../../../server/sandbox/start.ts'
import { fund } from '../../../server/sandbox/wallets.ts'
import { type FreshDatabase, freshDatabase } from '../../support/postgres.ts'

describe('a sandbox that starts again', () => {
  let database: FreshDatabase
  let dataDir: string
  before(async () => {
    database = await freshDatabase()
    dataDir = await mkdtemp(join(tmpdir(), 'agenthub-test-'))
  })
  after(async () => {
    await database.drop()
    await rm(dataDir, { recursive: true, force: true })
  })
  const log = createLog('silent')
  const start = () => startSandbox({ dataDir, logins: { url: database.url }, log })

  it('leaves its wallets what they hold: no money comes that nobody books', async () => {
    const first = await start()
    const { gas, spend } = first.money
    const held = 3n * 10n ** 18n + 7n
    await fund(first.rpcUrl, gas!.address, { wei: held })
    const usdc = await first.money.chain.balanceOf(spend.address)
    await first.stop()
    const second = await start()
    expect(await second.money.gas!.balance()).to.equal(held)
    expect(await second.money.chain.balanceOf(spend.address)).to.equal(usdc)
    await second.stop()
  })

  it('leaves nothing behind where another process has its data', async () => {
    const unlock = await lockFile(join(dataDir, 'postgres.lock'), 'The data')
    const failure = await startSandbox({ dataDir, logins: undefined, log }).catch(String)
    expect(failure).to.include('is in use by process')
    const { stdout } = await promisify(execFile)('ps', ['-A', '-o', 'args'])
    expect(stdout.split('\n').filter((line) => line.includes(dataDir))).to.deep.equal([])
    await unlock()
  })
})
