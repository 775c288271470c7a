import { expect } from 'chai'
import * as fc from 'fast-check'
import { beancountAccount } from '../../../../core/ledger/export/beancount.ts'
import { csvLine } from '../../../../core/ledger/export/csv.ts'
import type { ExportOrder } from '../../../../core/ledger/export/plan.ts'
import { formatUnits } from '../../../../core/ledger/export/units.ts'
import { exportLedger, FORMATS, type FormatName } from '../../../../core/ledger/export/writer.ts'
import { balancesAt } from '../../../../core/ledger/history/balance.ts'
import type { Ledger } from '../../../../core/ledger/ledger.ts'
import { trialBalance } from '../../../../core/ledger/trial-balance.ts'
import { type FreshDatabase, freshDatabase } from '../../../support/postgres.ts'
import { micros, newId, order, sampleLedger } from '../fixture.ts'

describe('exports of the ledger', () => {
  let database: FreshDatabase
  let ledger: Ledger

  before(async () => {
    database = await freshDatabase()
    const small = await sampleLedger(database.pool)
    ledger = small.ledger
    const { owner, payee } = small
    const treasury = await ledger.account('assets:usdc:base:treasury')
    const effectiveAt = new Date('2026-11-02T03:04:05.678Z')
    await ledger.post(
      { type: 'receipt.confirmed', amount: micros(1_000_000n) },
      { owner: treasury, id: newId(), effectiveAt },
    )
    // More than one page of entries.
    const calls = Array.from({ length: 1_200 }, () => order(owner, payee, 7n))
    await Promise.all(calls.map((call) => ledger.reserve(call)))
    await Promise.all(calls.map((call) => ledger.settle(call, 7n)))
  })
  after(async () => {
    await database.drop()
  })

  const whole = async (chunks: AsyncIterable<string>): Promise<string> => {
    let text = ''
    for await (const chunk of chunks) text += chunk
    return text
  }

  const exported = (format: FormatName, order?: ExportOrder): Promise<string> =>
    whole(exportLedger(database.pool, format, order))
  const lines = async (order?: ExportOrder): Promise<string[]> =>
    (await exported('csv', { ...order, allAssets: true })).split('\r\n').slice(1, -1)

  it('contain every posting exactly once, in the order of the journal', async () => {
    const text = await exported('csv')
    expect(text.split('\r\n')[0]).to.equal(
      'shard,seq,booked_at_utc,value_at_utc,id,event,account,asset,debit,credit,' +
        'author,reason,counterparty,service,transaction,call,payout,value_date,price,price_source',
    )
    const { rows: postings } = await database.pool.query<{ line: string }>(
      `SELECT concat_ws(',', p.shard, p.seq, p.id, p.event, p.account, p.asset, p.amount) AS line
       FROM ledger.posting p ORDER BY p.shard, p.seq, p.n`,
    )
    const seen = (await lines()).map((row) => {
      const [shard, seq, at, value, id, event, account, asset, debit, credit] = row.split(',')
      for (const instant of [at, value]) {
        expect(instant).to.match(/^2\d{3}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/)
      }
      expect(debit === '').to.not.equal(credit === '')
      const units = BigInt((debit! + credit!).replace('.', ''))
      expect(asset === 'FREECALL').to.equal(!/\.\d{6}$/.test(debit! + credit!))
      return [shard, seq, id, event, account, asset, debit ? -units : units].join(',')
    })
    expect(seen).to.deep.equal(postings.map(({ line }) => line))
  })

  it('give the same bytes for the same range, and ranges add up to the whole', async () => {
    for (const format of Object.keys(FORMATS) as FormatName[]) {
      const text = await exported(format)
      expect(await exported(format), format).to.equal(text)
      const range = { from: 3n, to: 40n }
      expect(await exported(format, { range }), format).to.equal(await exported(format, { range }))
    }
    const parts = [await lines({ range: { to: 1_111n } }), await lines({ range: { from: 1_112n } })]
    expect(parts.flat()).to.deep.equal(await lines())
    expect(await lines({ range: { shard: 1 } })).to.deep.equal([])
    expect(await lines({ range: { from: 10n ** 12n } })).to.deep.equal([])
  })

  it('are fixed at their start, and release their connections', async () => {
    const before = await exported('hledger')
    const fixed = { range: { to: 2_000n } }
    const part = await exported('jsonl', fixed)
    const chunks = exportLedger(database.pool, 'hledger')[Symbol.asyncIterator]()
    let text: string = (await chunks.next()).value
    const id = newId()
    const treasury = await ledger.account('assets:usdc:base:treasury')
    await ledger.open('liabilities:agents:key_late:credits', 'USDC', { home: 0 })
    await ledger.post(
      { type: 'balance.opened', account: treasury.code, amount: micros(5n) },
      { owner: treasury, id },
    )
    for (let next = await chunks.next(); !next.done; next = await chunks.next()) text += next.value
    expect(text).to.equal(before)
    expect(await exported('jsonl', fixed), 'after more was booked').to.equal(part)
    for await (const _ of exportLedger(database.pool, 'csv')) break // a reader that stops early
    expect(database.pool.totalCount - database.pool.idleCount).to.equal(0)
    expect(await exported('csv')).to.include(id)
  })

  it('give the same bytes and balances after later entries and accounts', async () => {
    const { rows } = await database.pool.query<{ to: bigint }>(
      'SELECT seq AS "to" FROM ledger.head',
    )
    const formats = Object.keys(FORMATS) as FormatName[]
    const before = await Promise.all(formats.map((format) => exported(format)))
    const code = 'liabilities:agents:key_later:credits'
    const later = await ledger.open(code, 'USDC', { home: 0 })
    const open = await Promise.all(formats.map((format) => exported(format)))
    expect(open.map((text, i) => text === before[i])).to.deep.equal(formats.map(() => true))
    const gift = { type: 'credits.granted', credits: code, amount: micros(5n) } as const
    await ledger.post(gift, { owner: later, id: newId() })
    for (const [i, format] of formats.entries()) {
      const range = { to: rows[0]!.to }
      expect((await exported(format, { range })) === before[i], format).to.equal(true)
      expect((await exported(format)) === before[i], format).to.equal(false)
    }
  })

  it('of a period contain entries by value date, also those posted later', async () => {
    const month = (from: string, to: string) =>
      lines({ period: { from: new Date(from), to: new Date(to) } })
    const second = await month('2026-11-02', '2026-11-03')
    expect(second.map((line) => line.split(',')[5])).to.deep.equal(
      Array(2).fill('receipt.confirmed'),
    )
    const [before, after] = [
      await month('2026-11-01', '2026-11-02'),
      await month('2026-11-03', '2100-01-01'),
    ]
    expect([...before, ...second, ...after].toSorted()).to.deep.equal((await lines()).toSorted())
    expect(await month('2025-01-01', '2026-11-02')).to.deep.equal(before)
  })

  it('of a period can start with the opening balances, and end with ours', async () => {
    const at = new Date('2026-11-02T12:00:00Z')
    const balances = await balancesAt(database.pool, at)
    const opening = balances.map(({ account, asset, balance }) => {
      return { code: account, asset, amount: balance }
    })
    const period = { from: at, to: new Date('2100-01-01') }
    for (const format of ['hledger', 'ledger', 'beancount'] as const) {
      const order = { period, allAssets: true }
      const text = await whole(exportLedger(database.pool, format, order, opening))
      const sums = new Map<string, bigint>()
      for (const [, account = '', amount = ''] of text.matchAll(
        /^ {2,4}([A-Za-z]\S+) {2}(-?[\d.]+) [A-Z]+$/gm,
      )) {
        sums.set(account, (sums.get(account) ?? 0n) - BigInt(amount.replace('.', '')))
      }
      for (const { account, balance } of await trialBalance(database.pool)) {
        const name = format === 'beancount' ? beancountAccount(account) : account
        expect(sums.get(name) ?? 0n, `${format} ${account}`).to.equal(balance)
      }
      expect(text).to.match(/^2026-11-02 \* "?opening balances/m)
    }
  })

  it('of an account contain its whole entries, of a prefix those of all its accounts', async () => {
    const some = await lines({ accounts: ['liabilities:providers:acme:'] })
    const { rows } = await database.pool.query<{ n: number }>(
      `SELECT count(*)::integer AS n FROM ledger.posting p
       WHERE EXISTS (SELECT FROM ledger.posting q WHERE q.shard = p.shard AND q.seq = p.seq
         AND q.account LIKE 'liabilities:providers:acme:%')`,
    )
    expect(some).to.have.length(rows[0]!.n).above(2_000)
    expect(some.filter((line) => line.includes('income:commission'))).to.not.deep.equal([])
    const free = await lines({ accounts: ['equity:free-calls:used'] })
    expect(free.every((line) => line.includes('FREECALL'))).to.equal(true)
    expect(await lines({ accounts: ['liabilities:providers:acme'] }), 'a code').to.deep.equal([])
  })

  it('leave out free calls and allowances unless asked, but never in JSONL', async () => {
    for (const format of Object.keys(FORMATS) as FormatName[]) {
      const permissions = /FREECALL|ALLOWANCE|free-calls|allowances/
      const isRaw = format === 'jsonl'
      expect(permissions.test(await exported(format)), format).to.equal(isRaw)
      expect(permissions.test(await exported(format, { allAssets: true })), format).to.equal(true)
    }
  })

  it('give beancount valid account names that can be decoded', () => {
    const part = fc.stringMatching(/^(?:[A-Za-z0-9_.-]|x2d|x00|-x5f|X-x){1,6}$/)
    const decoded = (name: string): string =>
      name.replace(/^X-x00|^./, (first) => (first.length > 1 ? '' : first.toLowerCase()))
    const codeOf = (name: string): string =>
      name
        .split(':')
        .map((one) =>
          decoded(one).replaceAll(/-x([0-9a-f]{2})/g, (_, hex: string) =>
            String.fromCharCode(Number.parseInt(hex, 16)),
          ),
        )
        .join(':')
    const property = fc.property(part, (name) => {
      const theirs = beancountAccount(`assets:${name}`)
      expect(theirs).to.match(/^Assets:[A-Z0-9][A-Za-z0-9-]*$/)
      expect(codeOf(theirs)).to.equal(`assets:${name}`)
    })
    fc.assert(property, { numRuns: 2_000, examples: [['_a'], ['x-x5fa'], ['-x5fa'], ['X-x00a']] })
    expect(beancountAccount('assets:usdc:base:in-transit')).to.equal('Assets:Usdc:Base:In-transit')
  })

  it('quote cells as in RFC 4180, and neutralize formulas', () => {
    const line = csvLine(['a,b', 'say "x"', 'two\r\nlines', '', 'plain'])
    expect(line).to.equal('"a,b","say ""x""","two\r\nlines",,plain\r\n')
    const formulas = [
      '=1+1',
      '+cmd',
      '-2+3',
      '@SUM(A1)',
      '\tx',
      '\rx',
      '\n=1',
      '＝1',
      '＋1',
      '－1',
      '＠A1',
    ]
    expect(formulas.map((cell) => csvLine([cell, '']).replaceAll('"', ''))).to.deep.equal(
      formulas.map((cell) => `'${cell},\r\n`),
    )
    expect(csvLine(['-0.000005', '+7', '12'])).to.equal('-0.000005,+7,12\r\n')
    expect(csvLine(['-', '1=2', '-5\n'])).to.equal(`'-,1=2,"'-5\n"\r\n`)
  })

  it('write amounts with all decimals of the asset', () => {
    expect(formatUnits(-5n, 6)).to.equal('-0.000005')
    expect(formatUnits(12_345_678n, 6)).to.equal('12.345678')
    expect(formatUnits(2n ** 63n - 1n, 6)).to.equal('9223372036854.775807')
    expect(formatUnits(-15n, 0)).to.equal('-15')
    expect(formatUnits(0n, 6)).to.equal('0.000000')
  })

  it('write hledger transactions debit-positive, with id and value date', async () => {
    const journal = await exported('hledger', { allAssets: true })
    const [first] = journal.split('\n\n').filter((part) => part.includes('(0/1)'))
    const [head, counterparty, debit, credit] = first!.split('\n')
    expect(counterparty).to.match(/^ {4}; counterparty: key_\d+$/)
    expect(head).to.match(/^\d{4}-\d\d-\d\d \* \(0\/1\) credits\.purchased  ; id:[0-9a-f-]{36}$/)
    expect(debit).to.equal('    assets:usdc:base:in-transit  1.000000 USDC')
    expect(credit).to.match(/^    liabilities:agents:key_\d+:credits  -1\.000000 USDC$/)
    expect(journal).to.match(/; id:[0-9a-f-]{36}, booked:\d{4}-\d\d-\d\dT[0-9:.]+Z\n/)
    expect(journal).to.match(/\n {4}equity:free-calls:granted {2}15 FREECALL\n/)
    expect(journal).to.match(/\n {4}liabilities:holds {2}0\.000000 USDC == -0\.005003 USDC\n/)
    const part = await exported('hledger', { range: { from: 2n, to: 5n } })
    expect(part).to.not.include('==') // balances are asserted only for a complete journal
  })
})
