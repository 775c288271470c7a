import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { systemClock } from '../../../core/clock.ts'
import { openLogins } from '../../../core/db/logins.ts'
import { ProcessLease } from '../../../core/db/process-lease.ts'
import type { AccountRef } from '../../../core/ledger/ledger.ts'
import { type Hex, USDC_BASE } from '../../../core/payments/chain/asset.ts'
import { Claims } from '../../../core/payments/receiving/claims.ts'
import { age } from '../../../server/commands/payments/age.ts'
import { paymentsCommand } from '../../../server/commands/payments/index.ts'
import { newId, sampleLedger } from '../../core/ledger/fixture.ts'
import { type FreshDatabase, freshDatabase } from '../../support/postgres.ts'

const run = promisify(execFile)
const MAIN = join(import.meta.dirname, '../../../server/main.ts')
const PAYER: Hex = `0x${'a'.repeat(40)}`
const SELLER: Hex = `0x${'b'.repeat(40)}`
const WHY = ['--reason', 'a seller misbehaves', '--author', 'ops']
const hash = (): Hex => `0x${randomBytes(32).toString('hex')}`
const inAMinute = () => new Date(systemClock.now().getTime() + 60_000)

/** The commands that operators run, and their output, without a running hub. */
describe('npm run payments', () => {
  let database: FreshDatabase
  let lease: ProcessLease
  let owner: AccountRef
  before(async () => {
    database = await freshDatabase()
    lease = await ProcessLease.open(database.pool)
    ;({ owner } = await sampleLedger(database.pool))
  })
  after(async () => {
    await lease.close()
    await database.drop()
  })

  const say = async (...args: string[]): Promise<{ code: number; output: string }> => {
    let output = ''
    const code = await paymentsCommand(
      { finality: 1n, addresses: async () => ({ gas: '0xgas' }) },
      async () => database.pool,
      args,
      (text) => {
        output += text
      },
    )
    return { code, output }
  }
  const { network, address: asset } = USDC_BASE
  /** Signs without a wallet: only the row in the database matters. */
  const sign = async (amount: bigint): Promise<string> => {
    const call = newId()
    const row = {
      call,
      owner: String(owner.id),
      principal: 'prn_payer0000000000',
      url: 'http://seller.test/x',
      host: 'seller.test',
      seller: 'http://seller.test/x',
      network,
      asset,
      payer: PAYER,
      payee: SELLER,
      amount: String(amount),
      nonce: hash(),
      valid_before: inAMinute(),
      payload_hash: hash(),
      from_block: '1',
    }
    await database.pool.query(
      `SELECT hub.commit_payment(p, ARRAY[1000000, 1000000, 1000000])
       FROM json_populate_record(NULL::hub.payment_intent, $1) p`,
      [JSON.stringify(row)],
    )
    return call
  }
  const claim = () => {
    const key = { network, asset: asset.toLowerCase(), payer: PAYER, nonce: hash() }
    const what = {
      purpose: 'credits' as const,
      requestHash: randomBytes(32),
      amount: 2_000_000n,
      payTo: SELLER,
      payee: owner.code,
      commissionBps: 0,
      validBefore: inAMinute(),
    }
    return new Claims(database.pool, systemClock, lease).claim(key, what)
  }
  const cut = (text: string): string => text.replaceAll(/ +/g, ' ')

  it('explains usage and errors without a database', async () => {
    const none = () => Promise.reject(new Error('no database is needed for this'))
    const ask = async (...args: string[]): Promise<readonly [number, string]> => {
      const messages: string[] = []
      const code = await paymentsCommand({ finality: 1n }, none, args, (text) =>
        messages.push(text),
      )
      return [code, messages.join('')]
    }
    const misused = { '': /^no command given/, steal: /^unknown command: steal/ }
    for (const [args, words] of Object.entries({
      ...misused,
      constructor: /^unknown command/,
      'status now': /^unknown argument: now/,
      'list --direction up': /^--direction is in or out/,
      'list --limit 0': /^--limit is 1 to 10000/,
      pause: /^--reason is required\n\nUsage: npm run payments -- pause/,
      'resume --author me': /^--reason is required/,
    })) {
      const [code, output] = await ask(...args.split(' ').filter((word) => word !== ''))
      expect(output, args).to.match(words)
      expect(code, args).to.equal(2)
    }
    for (const args of [['--help'], ['pause', '--help']]) {
      const [code, output] = await ask(...args)
      expect(output).to.match(/^Usage: npm run payments/)
      expect(code).to.equal(0)
    }
  })

  it('reports on an idle hub that no payment is open and payments are running', async () => {
    const { code, output } = await say('status')
    expect(code).to.equal(0)
    expect(output).to.match(/^Payments to sellers are running\.\n/)
    expect(output).to.match(/No payment is open\./)
    expect((await say('list')).output).to.equal('None.\n')
  })

  it('shows the addresses of the wallets, and when they were last compared', async () => {
    const before = (await say('status')).output
    expect(cut(before)).to.include('\n address of gas 0xgas\n')
    expect(before).to.include('Ledger and chain were never compared')
    await database.admin.query(
      `INSERT INTO hub.reconciliation (wallet, address, from_block, to_block, block_hash,
         block_time, chain_balance, ledger_balance, transfers, matched, pending, exceptions, at)
       SELECT w, '0x' || repeat('5', 40), 1, 2, '0x' || repeat('6', 64), now(), 0, 0, 0, 0, 0, 0,
         now() - interval '3 minutes'
       FROM unnest(ARRAY['treasury', 'spend']) w`,
    )
    expect((await say('status')).output).to.match(/\nLedger and chain agreed 3 min\S* ago\.\n/)
  })

  it('shows open and sent payments in dollars', async () => {
    const [call] = [await sign(12_345n), await claim()]
    const { code, output } = await say('status')
    expect(code).to.equal(0)
    expect(cut(output)).to.match(/\n by key_\d+ 0\.012345 USD\n/)
    expect(cut(output)).to.match(/\n to seller\.test 0\.012345 USD\n/)
    expect(cut(output)).to.match(/\n in claimed 1 2\.000000 USD, oldest \d+ s\n/)
    expect(cut(output)).to.match(/\n out signed 1 0\.012345 USD, oldest \d+ s\n/)
    expect(cut(output)).to.match(/\n spend 0\.000000 USD, 0\.012345 signed for sellers\n/)
    const listed = await say('list', '--direction', 'out')
    expect(listed.code).to.equal(0)
    expect(cut(listed.output)).to.match(
      new RegExp(`^${call} out signed 0\\.012345 seller\\.test, to ${SELLER}\n .* old\n The signa`),
    )
  })

  it('shows the same as JSON in microdollars', async () => {
    const status = JSON.parse((await say('status', '--json')).output) as Record<string, unknown>
    expect(status).to.include({ paused: false, author: null }).and.have.property('today')
    expect(status['open']).to.have.length(2)
    const listed = JSON.parse((await say('list', '--json', '--limit', '1')).output) as {
      data: Record<string, unknown>[]
      has_more: boolean
    }
    expect(listed.has_more).to.equal(true)
    expect(listed.data[0]).to.include({ amount_microdollars: 12_345, host: 'seller.test' })
  })

  it('pauses payments, so that none is signed, and resumes them', async () => {
    const paused = await say('pause', ...WHY)
    expect(paused).to.deep.equal({
      code: 0,
      output: 'Payments to sellers are paused in all processes.\n',
    })
    expect(await sign(1n).catch((error: { code: string }) => error.code)).to.equal('AH010')
    const { code, output } = await say('status')
    expect(code).to.equal(1)
    expect(output).to.match(/^Payments to sellers are PAUSED, since \S+Z by ops: a seller misbehav/)
    const resumed = await say('resume', '--reason', 'over', '--json')
    expect(JSON.parse(resumed.output)).to.include({ paused: false, reason: 'over' })
    expect(JSON.parse(resumed.output)['author']).to.match(/./)
    expect(await sign(1n)).to.be.a('string')
  })

  it('says how an automatic pause ends, which nobody can resume', async () => {
    await database.admin.query(
      `CREATE TEMP TABLE epoch AS SELECT * FROM hub.outgoing_epoch;
       DELETE FROM hub.outgoing_epoch;
       INSERT INTO hub.outgoing_epoch SELECT * FROM epoch`,
    )
    const { code, output } = await say('status')
    expect(code).to.equal(1)
    expect(output).to.match(/^Payments to sellers are PAUSED, since \S+Z by reconciliation: .*\n/)
    expect(output).to.match(
      /\nPayments resume by themselves .* \(npm run jobs, .* RPC_URL must resp/,
    )
    const resumed = await say('resume', '--reason', 'impatient')
    expect(resumed.code).to.equal(1)
    expect(resumed.output).to.match(/^Payments to sellers are still paused: .*\nPayments resume by/)
    await database.admin.query(
      'UPDATE hub.outgoing_epoch SET xact = pg_current_xact_id(), confirmed = true',
    )
    expect((await say('status')).code).to.equal(0)
  })

  it('lists payouts that are not final, each with the reason that it was not sent', async () => {
    await database.admin.query(
      `ALTER TABLE hub.payout DISABLE TRIGGER ALL;
       INSERT INTO hub.payout (id, provider, batch, attempt, amount, recovered, shard, payer, payee,
         nonce, valid_before, from_block, reason)
       SELECT gen_random_uuid(), 'acme-' || n, current_date, 1, n * 1080000, 0, 0,
         '${PAYER}', '${SELLER}', '0x' || repeat(n::text, 64), now(), 1,
         CASE n WHEN 1 THEN 'insufficient_funds' END
       FROM generate_series(1, 2) n;
       ALTER TABLE hub.payout ENABLE TRIGGER ALL`,
    )
    const output = cut((await say('status')).output)
    expect(output).to.match(
      /\npending payouts\n(?:.*\n)? acme-1 1\.080000 USD, started \S+Z, insufficient_funds\n/,
    )
    expect(output).to.match(/\n acme-2 2\.160000 USD, started \S+Z, not sent yet\n/)
    const { payouts } = JSON.parse((await say('status', '--json')).output) as { payouts: unknown[] }
    expect(payouts).to.have.length(2)
  })

  it('fails if a payment is overdue, and names it', async () => {
    const late = await sign(2n)
    await database.admin.query(
      `UPDATE hub.payment_intent SET valid_before = now() - interval '1 hour' WHERE call = $1`,
      [late],
    )
    const status = await say('status')
    expect(status.code).to.equal(1)
    expect(status.output).to.match(/\n1 OVERDUE: npm run payments -- list\n/)
    const { code, output } = await say('list')
    expect(code).to.equal(1)
    expect(output.slice(output.indexOf(late))).to.match(/This is overdue\./)
  })

  it('works on the database of a hub from a process of its own', async () => {
    await openLogins({ url: database.url })
    const env = { ...process.env, DATABASE_URL: database.url }
    const args = [MAIN, 'payments', 'status', '--json']
    const failed = await run(process.execPath, args, { env }).catch((error: unknown) => error)
    expect(failed).to.have.property('code', 1)
    const { overdue } = JSON.parse((failed as { stdout: string }).stdout) as { overdue: string[] }
    expect(overdue).to.have.length(1)
  })

  it('formats an age in the largest unit', () => {
    expect([0, 59, 60, 7_199, 86_400].map(age)).to.deep.equal([
      '0 s',
      '59 s',
      '1 min',
      '1 h',
      '1 d',
    ])
  })
})
