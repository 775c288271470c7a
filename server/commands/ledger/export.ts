import { exportToFile, NotResumable } from '../../../core/ledger/export/file.ts'
import { exportLedger, FORMATS, type FormatName } from '../../../core/ledger/export/index.ts'
import type { AccountBalance, ExportOrder } from '../../../core/ledger/export/plan.ts'
import { balancesAt } from '../../../core/ledger/history/balance.ts'
import { creditsOf } from '../../../core/ledger/postings.ts'
import {
  type Command,
  type Context,
  FAILED,
  instant,
  Misuse,
  month,
  optional,
  type Values,
} from './command.ts'

const NAMES = Object.keys(FORMATS).join('|')

export const exportCommand: Command = {
  usage: `--format ${NAMES} [--out FILE [--resume]]`,
  about: `write the journal, in exact decimals: all of it, or a part
[--month 2026-11 | --from INSTANT --to INSTANT] by value date
  [--opening] begun with the balances before it, for hledger, ledger and beancount
[--account CODE] an account, or all that begin with CODE when it ends in ':'
[--provider NAME] [--agent KEY_ID] entries that touch it, whole
--resume goes on with a file that was cut off`,
  options: {
    format: { type: 'string' },
    out: { type: 'string' },
    resume: { type: 'boolean' },
    month: { type: 'string' },
    from: { type: 'string' },
    to: { type: 'string' },
    opening: { type: 'boolean' },
    account: { type: 'string' },
    provider: { type: 'string' },
    agent: { type: 'string' },
  },
  async run({ pool, write, tell }, values) {
    const format = formatOf(values)
    const order = orderOf(values)
    const opening = await openingOf(pool, format, order, values)
    const out = optional(values['out'])
    const resume = values['resume'] === true
    if (out === undefined) {
      if (resume) throw new Misuse('--resume needs --out FILE')
      for await (const chunk of exportLedger(await pool(), format, order, opening))
        await write(chunk)
      return 0
    }
    try {
      const progress = (done: number, total: number) => tell(`\r${done} of ${total} entries`)
      const wanted = { format, order, opening, resume, progress }
      const entries = await exportToFile(await pool(), out, wanted)
      tell(`\r${out}: ${entries} entries.\n`)
      return 0
    } catch (error) {
      if (!(error instanceof NotResumable)) throw error
      await write(`${error.message}\n`)
      return FAILED
    }
  },
}

/** @throws Misuse where an opening has no place */
async function openingOf(
  pool: Context['pool'],
  format: FormatName,
  { period, accounts }: ExportOrder,
  values: Values,
): Promise<readonly AccountBalance[] | undefined> {
  if (values['opening'] !== true) return undefined
  if (!period || accounts) throw new Misuse('--opening needs a period of the whole journal')
  if (!('opening' in FORMATS[format])) throw new Misuse(`${format} has no place for an opening`)
  const balances = await balancesAt(await pool(), period.from)
  return balances.map(({ account, asset, balance }) => ({ code: account, asset, amount: balance }))
}

function formatOf(values: Values): FormatName {
  const format = optional(values['format']) ?? ''
  if (!(format in FORMATS)) throw new Misuse(`export needs --format ${NAMES}`)
  return format as FormatName
}

function orderOf(values: Values): ExportOrder {
  const accounts = [
    ...texts(values['account']),
    ...texts(values['provider']).map((name) => `liabilities:providers:${name}:`),
    ...texts(values['agent']).map(creditsOf),
  ]
  const period = periodOf(values)
  return { ...(period ? { period } : {}), ...(accounts.length > 0 ? { accounts } : {}) }
}

const texts = (value: Values[string]): string[] => (typeof value === 'string' ? [value] : [])

/** `--month`, or `--from` and `--to`, of which one may be left out. @throws Misuse */
export function periodOf(values: Values): { readonly from: Date; readonly to: Date } | undefined {
  const whole = optional(values['month'])
  const [from, to] = [optional(values['from']), optional(values['to'])]
  if (whole !== undefined) {
    if (from !== undefined || to !== undefined) throw new Misuse('--month, or --from and --to')
    return month(whole)
  }
  if (from === undefined && to === undefined) return undefined
  const period = { from: instant(from ?? '1970-01-01'), to: instant(to ?? '9999-12-31') }
  if (period.from >= period.to) throw new Misuse('--from must be before --to')
  return period
}
