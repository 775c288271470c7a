import type { Pool } from 'pg'
import { withAudit } from '../../../core/audit/record.ts'
import { exportToFile, NotResumable } from '../../../core/ledger/export/file.ts'
import type { AccountBalance, ExportOrder } from '../../../core/ledger/export/plan.ts'
import { exportLedger, FORMATS, type FormatName } from '../../../core/ledger/export/writer.ts'
import { creditsOf } from '../../../core/ledger/postings.ts'
import { openingBalances } from '../../../core/ledger/retained-earnings.ts'
import { authorOf } from '../author.ts'
import {
  type Command,
  type CommandContext,
  EXIT_FAILED,
  type OptionValues,
  optional,
  parseInstant,
  parseMonth,
  UsageError,
} from '../command.ts'

const FORMAT_NAMES = Object.keys(FORMATS).join('|')

export const exportCommand: Command = {
  usage: `--format ${FORMAT_NAMES} [--out FILE [--resume]]`,
  description: `write the journal in exact decimals, all of it or a part
[--month 2026-11 | --from INSTANT --to INSTANT] by value date
  [--opening] start with the opening balances, for hledger, ledger and beancount
[--account CODE] one account, or all that begin with CODE if it ends in ':'
[--provider NAME] [--agent KEY_ID] complete entries that touch its accounts
[--all-assets] with free calls and allowances, which accounting formats leave out
--resume continues an interrupted file
The audit log records it [--author WHO] [--reason WHY]`,
  options: {
    format: { type: 'string' },
    out: { type: 'string' },
    resume: { type: 'boolean' },
    month: { type: 'string' },
    from: { type: 'string' },
    to: { type: 'string' },
    opening: { type: 'boolean' },
    'all-assets': { type: 'boolean' },
    account: { type: 'string' },
    provider: { type: 'string' },
    agent: { type: 'string' },
    author: { type: 'string' },
    reason: { type: 'string' },
  },
  async run({ pool, write, log: tell }, values) {
    const format = parseFormat(values)
    const order = parseOrder(values)
    const out = optional(values['out'])
    const resume = values['resume'] === true
    if (resume && out === undefined) throw new UsageError('--resume requires --out FILE')
    const opening = await readOpening(pool, format, order, values)
    await recordExport(await pool(), values, { format, order, out: out ?? 'standard output' })
    if (out === undefined) {
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
      return EXIT_FAILED
    }
  },
}

function recordExport(
  pool: Pool,
  values: OptionValues,
  { out, ...scope }: { format: FormatName; order: ExportOrder; out: string },
): Promise<void> {
  const reason = optional(values['reason']) ?? 'Exported on the command line.'
  return withAudit(pool, authorOf(values), reason, async (_, note) =>
    note({ act: 'export.start', subject: out, after: scope }),
  )
}

/** @throws UsageError if the export cannot begin with opening balances */
async function readOpening(
  pool: CommandContext['pool'],
  format: FormatName,
  { period, accounts }: ExportOrder,
  values: OptionValues,
): Promise<readonly AccountBalance[] | undefined> {
  if (values['opening'] !== true) return undefined
  if (!period || accounts)
    throw new UsageError('--opening requires a period, and no account, provider or agent')
  if (!('opening' in FORMATS[format]))
    throw new UsageError(`${format} cannot contain opening balances`)
  return openingBalances(await pool(), period.from)
}

function parseFormat(values: OptionValues): FormatName {
  const format = optional(values['format']) ?? ''
  if (!(format in FORMATS)) throw new UsageError(`--format ${FORMAT_NAMES} is required`)
  return format as FormatName
}

function parseOrder(values: OptionValues): ExportOrder {
  const accounts = [
    ...textValues(values['account']),
    ...textValues(values['provider']).map((name) => `liabilities:providers:${name}:`),
    ...textValues(values['agent']).map(creditsOf),
  ]
  const period = parsePeriod(values)
  return {
    ...(period ? { period } : {}),
    ...(accounts.length > 0 ? { accounts } : {}),
    ...(values['all-assets'] === true ? { allAssets: true } : {}),
  }
}

const textValues = (value: OptionValues[string]): string[] =>
  typeof value === 'string' ? [value] : []

/** Parses `--month`, or `--from` and `--to`, of which one may be omitted. @throws UsageError */
export function parsePeriod(
  values: OptionValues,
): { readonly from: Date; readonly to: Date } | undefined {
  const whole = optional(values['month'])
  const [from, to] = [optional(values['from']), optional(values['to'])]
  if (whole !== undefined) {
    if (from !== undefined || to !== undefined)
      throw new UsageError('use either --month, or --from and --to')
    return parseMonth(whole)
  }
  if (from === undefined && to === undefined) return undefined
  const period = { from: parseInstant(from ?? '1970-01-01'), to: parseInstant(to ?? '9999-12-31') }
  if (period.from >= period.to) throw new UsageError('--from must be before --to')
  return period
}
