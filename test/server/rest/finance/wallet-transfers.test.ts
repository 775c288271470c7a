import { gunzipSync } from 'node:zlib'
import { expect } from 'chai'
import { request } from 'undici'
import { systemClock } from '../../../../core/clock.ts'
import { postWalletTransfers } from '../../../../core/finance/wallet-transfers.ts'
import { writeNextExport } from '../../../../core/finance/write-export.ts'
import { createLog } from '../../../../core/log.ts'
import { usd } from '../../../../core/money.ts'
import type { Hex } from '../../../../core/payments/chain/asset.ts'
import { postGasFees } from '../../../../core/payments/facilitators/gas-accounting.ts'
import { reconcile } from '../../../../core/reconciliation/reconcile.ts'
import { fund } from '../../../../server/sandbox/wallets.ts'
import { useHub } from '../../../support/suite.ts'
import { dataOf, expectRefused, type Json, readAudit } from '../../staff/fixture.ts'
import { createAdmin } from './fixture.ts'
import { sendTransaction, sendUsdc } from './platform-wallets.ts'

const TREASURY = 'assets:usdc:base:treasury'
const SPEND = 'assets:usdc:base:spend'

describe('a transfer between platform wallets', () => {
  const admin = createAdmin()
  const hub = useHub({ config: { admins: [admin.wallet] } })
  const money = () => hub().sandbox!.money
  const send = (from: Hex, to: Hex, value: bigint) => sendUsdc(hub(), from, to, value)
  const pay = (value: bigint) =>
    sendTransaction(hub(), agent, money().gas!.address, { value: `0x${value.toString(16)}` })
  const book = (transaction: Hex) =>
    admin.ask(hub(), 'transfers', { transaction, reason: 'a test' })
  const look = async () => (await admin.ask(hub(), 'wallets')).body as Record<string, Json>
  const exceptions = async () => {
    const { chain, treasury, spend, finality } = { ...money(), spend: money().spend.address }
    const { pool } = hub().hub
    await reconcile({ pool, chain, finality, wallets: { treasury, spend } })
    return dataOf(await admin.ask(hub(), 'exceptions'))
  }
  const agent = '0x00000000000000000000000000000000000005e1' as const

  /** Exports the whole journal. */
  async function exported(format: string): Promise<string> {
    const order = { format, reason: 'a test' }
    const response = await admin.ask(hub(), 'exports', order)
    expect(response.status, response.text).to.be.oneOf([201, 202])
    const log = createLog('silent')
    await writeNextExport({ pool: hub().hub.pool, log }, new AbortController().signal)
    const written = dataOf(await admin.ask(hub(), 'exports'))
    const { file } = written.find((each) => each['export_id'] === response.body['export_id'])!
    const { statusCode, body } = await request(`${hub().url}${String(file)}`, {
      headers: { 'x-api-key': await admin.key(hub()) },
    })
    expect(statusCode).to.equal(200)
    return gunzipSync(Buffer.from(await body.arrayBuffer())).toString()
  }

  it('is posted once by transaction hash, as on chain, and reconciled', async () => {
    const { treasury, spend } = money()
    await exceptions()
    const tx = await send(spend.address, treasury, 900_000n)
    const [unknown] = await exceptions()
    expect(unknown, 'before it is booked').to.have.property('amount_microdollars')
    const before = await readAudit(hub())
    const response = await book(tx)
    expect(response.status, response.text).to.equal(201)
    const [entry] = response.body['entries'] as Json[]
    const moved = { from: SPEND, to: TREASURY, amount: 900_000, asset: 'USDC' }
    expect(entry).to.deep.include(moved)
    const again = await Promise.all([book(tx), book(tx.toUpperCase().replace('0X', '0x') as Hex)])
    for (const each of again) {
      expect([each.status, each.body], each.text).to.deep.equal([200, response.body])
    }
    const { lines, last } = await readAudit(hub())
    expect(lines).to.equal(before.lines + 1)
    expect(last).to.include({ act: 'transfer.book', subject: tx, reason: 'a test' })
    expect(await exceptions(), 'what was unknown is explained').to.deep.equal([])
    const { treasury: held, spend: paying } = await look()
    expect([held?.['difference_microdollars'], paying?.['difference_microdollars']]).to.deep.equal([
      0, 0,
    ])
    const journal = await admin.ask(hub(), 'journal?event=wallet.moved')
    expect(dataOf(journal)[0]).to.have.nested.property('meta.tx', tx)
    expect(journal.text).to.include(String(entry?.['entry_id']))
  })

  it('of gas is posted in whole gwei with the remainder carried over', async () => {
    const { gas } = money()
    const { pool, ledger } = hub().hub
    const wallet = gas!
    const early = await pay(1_000_000_000n)
    expectRefused(await book(early), 409, 'not_booked')
    const books = { pool, ledger, wallet, finality: 1n, ethPrice: usd('3000') }
    await postGasFees(books)
    expectRefused(await book(early), 409, 'not_booked')
    const [first, second] = [await pay(1_500_000_000n), await pay(2_500_000_000n)]
    const responses = [await book(first), await book(second), await book(first)]
    expect(responses.map(({ status }) => status)).to.deep.equal([201, 201, 200])
    const amounts = responses.map(({ body }) => (body['entries'] as Json[])[0]?.['amount'])
    expect(Number(amounts[0]) + Number(amounts[1])).to.be.oneOf([4, 5])
    expect(amounts[2]).to.equal(amounts[0])
    await postGasFees(books)
    expect((await look())['gas']).to.include({ difference_gwei: 0 })
  })

  it('from a wallet to itself is rejected', async () => {
    const { address } = money().gas!
    const around = await sendTransaction(hub(), address, address, { value: '0xdf8475800' })
    expectRefused(await book(around), 409, 'not_booked')
  })

  it('is only posted if it is final on chain and between platform wallets', async () => {
    const { treasury, spend } = money()
    expectRefused(await book(`0x${'ab'.repeat(32)}`), 409, 'not_booked')
    await fund(hub().sandbox!.rpcUrl, agent, { usdc: 5n })
    const strange = await send(agent, '0x00000000000000000000000000000000000005e2', 5n)
    expectRefused(await book(strange), 409, 'not_booked')
    const failing = await send(agent, treasury, 1_000_000_000n)
    expectRefused(await book(failing), 409, 'not_booked')
    const tx = await send(spend.address, treasury, 7n)
    const { pool, ledger } = hub().hub
    const deps = { pool, ledger, clock: systemClock, soloAdjustmentMax: usd('100') }
    const ports = { ...money(), ...deps, spend: spend.address, gas: undefined }
    const by = { name: 'x', principal: 'x', via: null, role: 'finance', requestId: null } as const
    const impatient = { ...ports, finality: 1_000n }
    const early = await postWalletTransfers(impatient, { ...by, network: null }, tx, 'x').catch(
      (error: unknown) => error,
    )
    expect(early).to.have.property('code', 'not_booked')
    const open = await exceptions()
    expect(open).to.have.length(2)
    const deposit = open.find(({ wallet }) => wallet === 'treasury')
    const decided = await admin.ask(
      hub(),
      `exceptions/${String(deposit?.['exception_id'])}/resolve`,
      { decision: 'surplus', reason: 'Nobody knew of it.' },
    )
    expect(decided.status, decided.text).to.equal(200)
    const late = await book(tx)
    expectRefused(late, 409, 'not_booked')
    expect(late.text).to.include('exception')
    expect(await hub().hub.ledger.balance(SPEND)).to.equal(900_000n - usd('50'))
  })

  it('can be previewed without being posted', async () => {
    const { treasury, spend } = money()
    const tx = await send(spend.address, treasury, 30n)
    const foresee = () => admin.ask(hub(), `transfers/${tx}`)
    const before = await readAudit(hub())
    const foreseen = await foresee()
    expect(foreseen.body, foreseen.text).to.deep.include({ transaction: tx, booked: false })
    expect(await foresee(), 'again').to.deep.include({ status: 200, body: foreseen.body })
    expect((await readAudit(hub())).lines).to.equal(before.lines)
    expect((await admin.ask(hub(), 'journal?event=wallet.moved')).text).not.to.include(tx)
    const response = await book(tx)
    expect(response.body).to.deep.equal({ ...foreseen.body, booked: true })
    expect((await foresee()).body).to.deep.equal(response.body)

    const gift = await pay(3_700_000_000n)
    const guess = (await admin.ask(hub(), `transfers/${gift}`)).body
    expect((await book(gift)).body, 'gas too, without using the remainder').to.deep.equal({
      ...guess,
      booked: true,
    })
    expectRefused(await admin.ask(hub(), 'transfers/0x12'), 422, 'validation_failed')
    expectRefused(await admin.ask(hub(), `transfers/0x${'ab'.repeat(32)}`), 409, 'not_booked')
  })

  for (const [format, lines] of Object.entries({
    csv: [`wallet.moved,${SPEND},USDC,,0.000077`, `wallet.moved,${TREASURY},USDC,0.000077,`],
    hledger: [`${SPEND} `, '-0.000077 USDC'],
  })) {
    it(`is in the ${format} export of the journal`, async () => {
      const { treasury, spend } = money()
      const tx = await send(spend.address, treasury, 77n)
      const response = await book(tx)
      const [{ entry_id: id }] = response.body['entries'] as [Json]
      const text = await exported(format)
      const own = text.split(format === 'csv' ? /\r\n/ : /\n\n/)
      const found = own.filter((part) => part.includes(String(id))).join('\n')
      for (const line of lines) expect(found).to.include(line)
    })
  }
})
