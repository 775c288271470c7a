import { csvLine } from '../../../core/ledger/export/csv.ts'
import { decimalsOf, formatUnits } from '../../../core/ledger/export/units.ts'
import { balancesAt } from '../../../core/ledger/history/balance.ts'
import { type Movement, type Statement, statement } from '../../../core/ledger/history/statement.ts'
import { totalsByAsset, trialBalance } from '../../../core/ledger/trial-balance.ts'
import {
  type Command,
  EXIT_FAILED,
  optional,
  parseInstant,
  parseMonth,
  required,
  toJson,
  UsageError,
} from '../command.ts'
import { parsePeriod } from './export.ts'

const PAGE = 1_000

export const balancesCommand: Command = {
  usage: '[--at INSTANT | --month 2026-11] [--json]',
  description: `trial balance, credit-positive: now, before an instant, or at the end of a month, by
value date; exit code 1 if it is not zero`,
  options: { at: { type: 'string' }, month: { type: 'string' }, json: { type: 'boolean' } },
  async run({ pool, write }, values) {
    const at = optional(values['at'])
    const whole = optional(values['month'])
    if (at !== undefined && whole !== undefined) throw new UsageError('use either --at or --month')
    const end =
      at !== undefined ? parseInstant(at) : whole !== undefined ? parseMonth(whole).to : undefined
    const accounts = end ? await balancesAt(await pool(), end) : await trialBalance(await pool())
    const sums = totalsByAsset(accounts)
    if (values['json'] === true) {
      await write(toJson({ accounts, totals: Object.fromEntries(sums) }))
    } else {
      const width = Math.max(5, ...accounts.map(({ account }) => account.length))
      const line = (name: string, asset: string, amount: bigint): string =>
        `${name.padEnd(width)}  ${formatUnits(amount, decimalsOf(asset)).padStart(20)} ${asset}\n`
      const lines = accounts.map(({ account, asset, balance }) => line(account, asset, balance))
      const sumLines = [...sums].map(([asset, sum]) => line('total', asset, sum))
      await write(`${lines.join('')}\n${sumLines.join('')}`)
    }
    return [...sums.values()].every((sum) => sum === 0n) ? 0 : EXIT_FAILED
  },
}

export const statementCommand: Command = {
  usage: 'ACCOUNT [--month 2026-11 | --from INSTANT --to INSTANT] [--csv | --json]',
  description: `statement of an account over a period: opening balance, every movement with the
balance after it, closing balance; by value date, credit-positive`,
  options: {
    month: { type: 'string' },
    from: { type: 'string' },
    to: { type: 'string' },
    csv: { type: 'boolean' },
    json: { type: 'boolean' },
  },
  words: 1,
  async run(context, values, [word]) {
    const account = required(word, 'ACCOUNT')
    const period = parsePeriod(values) ?? {
      from: parseInstant('1970-01-01'),
      to: parseInstant('9999-12-31'),
    }
    const form = values['csv'] === true ? CSV : values['json'] === true ? JSON_LINES : TEXT
    const pool = await context.pool()
    let after: string | undefined
    do {
      const page = await statement(pool, account, { ...period, after, limit: PAGE })
      if (!page) {
        await context.write(
          `There is no account ${account}. Run "ledger -- balances" for the names.\n`,
        )
        return EXIT_FAILED
      }
      if (after === undefined) await context.write(form.head(page))
      await context.write(page.movements.map((movement) => form.line(movement, page)).join(''))
      after = page.nextCursor
      if (after === undefined) await context.write(form.foot(page))
    } while (after !== undefined)
    return 0
  },
}

interface StatementFormat {
  head(statement: Statement): string
  line(movement: Movement, statement: Statement): string
  foot(statement: Statement): string
}

const formatAmount = (amount: bigint, { asset }: Statement): string =>
  formatUnits(amount, decimalsOf(asset))

const TEXT: StatementFormat = {
  head: (page) =>
    `${page.account} in ${page.asset}\n${summaryRow('opening', '', page.opening, page)}`,
  line: ({ valueAt, event, contra, amount, balance }, page) =>
    `${valueAt.slice(0, 19)}Z  ${event.padEnd(20)} ${formatAmount(amount, page).padStart(18)} ` +
    `${formatAmount(balance, page).padStart(18)}  ${contra.join(', ')}\n`,
  foot: (page) =>
    summaryRow('debits', '', -page.debits, page) +
    summaryRow('credits', '', page.credits, page) +
    summaryRow('closing', '', page.closing, page),
}

const summaryRow = (name: string, event: string, amount: bigint, page: Statement): string =>
  `${name.padEnd(20)}  ${event.padEnd(20)} ${formatAmount(amount, page).padStart(37)}\n`

const CSV: StatementFormat = {
  head: () =>
    csvLine([
      'value_at_utc',
      'booked_at_utc',
      'shard',
      'seq',
      'id',
      'event',
      'contra',
      'asset',
      'amount',
      'balance',
    ]),
  line: ({ valueAt, bookedAt, shard, seq, id, event, contra, amount, balance }, page) =>
    csvLine([
      valueAt,
      bookedAt,
      `${shard}`,
      `${seq}`,
      id,
      event,
      contra.join(' '),
      page.asset,
      formatAmount(amount, page),
      formatAmount(balance, page),
    ]),
  foot: () => '',
}

/** JSON Lines: the totals first, then one movement per line. */
const JSON_LINES: StatementFormat = {
  head: ({ account, asset, opening, closing, debits, credits }) =>
    toJson({ account, asset, opening, closing, debits, credits }),
  line: (movement) => toJson(movement),
  foot: () => '',
}
