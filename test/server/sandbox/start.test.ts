import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
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
  const start = () => startSandbox({ dataDir, databaseUrl: database.url, log: createLog('silent') })

  it('leaves its wallets what they hold: no money comes that nobody books', async function () {
    this.timeout(10_000)
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
})
