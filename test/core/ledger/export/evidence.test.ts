import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { findByTransaction } from '../../../../core/finance/journal.ts'
import { exportLedger, type FormatName } from '../../../../core/ledger/export/writer.ts'
import { Ledger } from '../../../../core/ledger/ledger.ts'
import { type FreshDatabase, freshDatabase } from '../../../support/postgres.ts'
import { isInstalled } from '../../finance/accounting-tools.ts'
import { micros, newId, openAgent, openProvider, order } from '../fixture.ts'

const run = promisify(execFile)
const TX = `0x${'ab'.repeat(32)}`
const PAYER = `0x${'12'.repeat(20)}`

describe('evidence in accounting formats', () => {
  let database: FreshDatabase
  let folder: string
  let call: string

  before(async () => {
    database = await freshDatabase()
    folder = await mkdtemp(join(tmpdir(), 'agenthub-test-'))
    const ledger = new Ledger(database.pool)
    const owner = await openAgent(ledger, 0n)
    const payee = await openProvider(ledger, 'acme')
    const bought = {
      type: 'credits.purchased',
      credits: owner.code,
      amount: micros(9_000n),
    } as const
    await ledger.post(bought, { owner, id: newId(), meta: { payer: PAYER, transaction: TX } })
    const made = order(owner, payee, 5_000n)
    call = made.call
    await ledger.reserve(made)
    await ledger.settle(made, 5_000n)
    const meta = { author: 'Fay, CFO', reason: 'a [2026-99] "fix"\nwith: more, = +1' }
    const reversed = {
      type: 'call.reversed',
      credits: owner.code,
      payee: payee.code,
      refunded: micros(1_000n),
      commission: micros(100n),
      receivable: micros(0n),
    } as const
    expect(await ledger.post(reversed, { owner, id: call, meta })).to.equal('applied')
    const gas = await ledger.account('assets:eth:base:gas')
    const price = { tx: TX, price: '3000.000000', price_source: 'HUB_ETH_PRICE' }
    const paid = { type: 'gas.paid', gwei: 1_234_567n, cost: micros(3n) } as const
    await ledger.post(paid, { owner: gas, id: newId(), meta: price })
  })
  after(async () => {
    await rm(folder, { recursive: true })
    await database.drop()
  })

  async function fileOf(format: FormatName): Promise<string> {
    const file = join(folder, `evidence.${format}`)
    await writeFile(file, exportLedger(database.pool, format))
    return file
  }

  const output = async (name: string, ...args: string[]): Promise<string> =>
    (await run(name, args)).stdout

  it('is in columns of CSV', async () => {
    let text = ''
    for await (const part of exportLedger(database.pool, 'csv')) text += part
    const lines = text.split('\r\n').filter((line) => line !== '')
    const of = (event: string) => lines.find((line) => line.includes(`,${event},`))
    expect(of('credits.purchased')).to.match(new RegExp(`,,,${PAYER},,${TX},,,,,$`))
    expect(of('call.settled')).to.match(new RegExp(`,,,acme,x,,${call},,,,$`))
    expect(of('call.reversed')).to.include(
      `,"Fay, CFO","a [2026-99] ""fix"" with: more, = +1",acme,x,,${call},`,
    )
    expect(of('gas.paid')).to.match(new RegExp(`,${TX},,,,3000\\.000000,HUB_ETH_PRICE$`))
    expect(text).to.include(',assets:eth:base:gas,ETH,,0.001234567,')
  })

  it('is found by the tags of hledger, with ETH at its price', async function () {
    if (!(await isInstalled('hledger'))) this.skip()
    const file = await fileOf('hledger')
    const count = async (...query: string[]): Promise<number> =>
      (await output('hledger', '-f', file, '--strict', 'print', ...query)).match(/^\d{4}-/gm)
        ?.length ?? 0
    expect(await count(`tag:call=${call}`)).to.equal(3)
    expect(await count(`tag:transaction=${TX}`)).to.equal(2)
    expect(await count('tag:author=^Fay; CFO$')).to.equal(1)
    expect(await count('tag:service=^x$', 'tag:counterparty=^acme$')).to.equal(2)
    expect(await count(`tag:counterparty=${PAYER}`)).to.equal(1)
    const gas = ['balance', 'assets:eth', '-N', '-V']
    expect(await output('hledger', '-f', file, ...gas)).to.include('-3.703701 USDC')
  })

  it('leads from a transaction to all entries of its payments', async () => {
    const upper = `0x${TX.slice(2).toUpperCase()}`
    const found = await findByTransaction(database.pool, upper)
    expect(found.map(({ event }) => event)).to.deep.equal(['gas.paid', 'credits.purchased'])
    expect(await findByTransaction(database.pool, `0x${'0'.repeat(64)}`)).to.deep.equal([])
  })

  it('is found by the tags of ledger', async function () {
    if (!(await isInstalled('ledger'))) this.skip()
    const file = await fileOf('ledger')
    const strict = ['--strict', '--pedantic', '-f', file, 'register']
    const reversed = await output('ledger', ...strict, 'expr', 'has_tag("reason")')
    expect(reversed.match(/call\.reversed/g)).to.have.length(1)
    const bought = await output('ledger', ...strict, 'expr', `tag("transaction") == "${TX}"`)
    expect(bought).to.include('credits.purchased').and.to.include('gas.paid')
  })

  it('is metadata of beancount', async function () {
    if (!(await isInstalled('bean-query'))) this.skip()
    const select = `SELECT DISTINCT any_meta('author') AS a, any_meta('reason') AS r,
      any_meta('call') AS c WHERE narration = 'call.reversed'`
    const csv = await output('bean-query', '-f', 'csv', await fileOf('beancount'), select)
    expect(csv).to.include('"Fay, CFO"').and.to.include('a [2026-99] ""fix"" with: more, = +1')
    expect(csv).to.include(call)
  })
})
