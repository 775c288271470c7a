import { audited, operator } from '../../../core/audit/audit.ts'
import { csvLine } from '../../../core/ledger/export/csv.ts'
import { decimalsOf, formatUnits } from '../../../core/ledger/export/format.ts'
import { balancesAt } from '../../../core/ledger/history/balance.ts'
import { closedPeriods, closePeriod, NotClosable } from '../../../core/ledger/history/period.ts'
import { type Movement, type Statement, statement } from '../../../core/ledger/history/statement.ts'
import { totals, trialBalance } from '../../../core/ledger/trial-balance.ts'
import {
  type Command,
  type Context,
  FAILED,
  instant,
  Misuse,
  month,
  needed,
  optional,
  toJson,
} from './command.ts'
import { periodOf } from './export.ts'

const PAGE = 1_000

export const balancesCommand: Command = {
  usage: '[--at INSTANT | --month 2026-11] [--json]',
  about: `the trial balance, credit-positive: now, before an instant, or at the end of a month,
by value date; exit code 1 when it is not zero`,
  options: { at: { type: 'string' }, month: { type: 'string' }, json: { type: 'boolean' } },
  async run({ pool, write }, values) {
    const at = optional(values['at'])
    const whole = optional(values['month'])
    if (at !== undefined && whole !== undefined) throw new Misuse('--at or --month')
    const end = at !== undefined ? instant(at) : whole !== undefined ? month(whole).to : undefined
    const accounts = end ? await balancesAt(await pool(), end) : await trialBalance(await pool())
    const sums = totals(accounts)
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
    return [...sums.values()].every((sum) => sum === 0n) ? 0 : FAILED
  },
}

export const statementCommand: Command = {
  usage: 'ACCOUNT [--month 2026-11 | --from INSTANT --to INSTANT] [--csv | --json]',
  about: `an account over a period: opening balance, every movement with what was left after it,
closing balance; by value date, credit-positive`,
  options: {
    month: { type: 'string' },
    from: { type: 'string' },
    to: { type: 'string' },
    csv: { type: 'boolean' },
    json: { type: 'boolean' },
  },
  words: 1,
  async run(context, values, [word]) {
    const account = needed(word, 'ACCOUNT')
    const period = periodOf(values) ?? { from: instant('1970-01-01'), to: instant('9999-12-31') }
    const form = values['csv'] === true ? CSV : values['json'] === true ? JSON_LINES : TEXT
    const pool = await context.pool()
    let after: string | undefined
    do {
      const page = await statement(pool, account, { ...period, after, limit: PAGE })
      if (!page) {
        await context.write(`There is no account ${account}.\n`)
        return FAILED
      }
      if (after === undefined) await context.write(form.head(page))
      await context.write(page.movements.map((movement) => form.line(movement, page)).join(''))
      after = page.nextCursor
      if (after === undefined) await context.write(form.foot(page))
    } while (after !== undefined)
    return 0
  },
}

interface Form {
  head(statement: Statement): string
  line(movement: Movement, statement: Statement): string
  foot(statement: Statement): string
}

const shown = (amount: bigint, { asset }: Statement): string =>
  formatUnits(amount, decimalsOf(asset))

const TEXT: Form = {
  head: (page) => `${page.account} in ${page.asset}\n${row('opening', '', page.opening, page)}`,
  line: ({ valueAt, event, contra, amount, balance }, page) =>
    `${valueAt.slice(0, 19)}Z  ${event.padEnd(20)} ${shown(amount, page).padStart(18)} ` +
    `${shown(balance, page).padStart(18)}  ${contra.join(', ')}\n`,
  foot: (page) =>
    row('debits', '', -page.debits, page) +
    row('credits', '', page.credits, page) +
    row('closing', '', page.closing, page),
}

const row = (name: string, event: string, amount: bigint, page: Statement): string =>
  `${name.padEnd(20)}  ${event.padEnd(20)} ${''.padStart(18)} ${shown(amount, page).padStart(18)}\n`

const CSV: Form = {
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
      shown(amount, page),
      shown(balance, page),
    ]),
  foot: () => '',
}

/** One object a line: the sums first, then the movements. */
const JSON_LINES: Form = {
  head: ({ account, asset, opening, closing, debits, credits }) =>
    toJson({ account, asset, opening, closing, debits, credits }),
  line: (movement) => toJson(movement),
  foot: () => '',
}

export const closeCommand: Command = {
  usage: '2026-11 --author WHO [--reason WHY]',
  about: `close the books of a month, and of all before it, for good; without a month, list those
that are closed`,
  options: { author: { type: 'string' }, reason: { type: 'string' } },
  words: 1,
  async run(context, values, [wanted]) {
    const pool = await context.pool()
    if (wanted === undefined) return listClosed(context)
    try {
      const author = needed(values['author'], '--author')
      const reason = optional(values['reason']) ?? 'Closed at the command line.'
      const closed = await audited(pool, operator(author), reason, async (client, note) => {
        const months = await closePeriod(client, wanted, author)
        if (months.length > 0) note({ act: 'period.close', subject: wanted, after: { months } })
        return months
      })
      const said = closed.length > 0 ? `Closed: ${closed.join(', ')}.` : 'It was closed already.'
      await context.write(`${said}\n`)
      return 0
    } catch (error) {
      if (!(error instanceof NotClosable)) throw error
      await context.write(`Not closed: ${error.message}.\n`)
      return FAILED
    }
  },
}

async function listClosed({ pool, write }: Context): Promise<number> {
  const periods = await closedPeriods(await pool())
  const lines = periods.map(
    ({ month: name, closedAt, author }) =>
      `${name}  closed ${closedAt.toISOString()} by ${author}\n`,
  )
  await write(lines.length > 0 ? lines.join('') : 'No month is closed.\n')
  return 0
}
