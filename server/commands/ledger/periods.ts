import { monthName } from '../../../core/clock.ts'
import { closingChecklist, missingItems } from '../../../core/finance/closing-checklist.ts'
import { parseReportPeriod } from '../../../core/finance/report-period.ts'
import { closedPeriods } from '../../../core/ledger/history/period.ts'
import { type Command, EXIT_FAILED, parseMonth, UsageError } from '../command.ts'

export const periodsCommand: Command = {
  usage: '[2026-11]',
  description: `closed months, or the checklist of one; exit code 1 if something is missing. Closing
needs two people: one proposes it on /finance/periods, another one confirms it`,
  options: {},
  words: 1,
  async run({ pool, write }, _, [wanted]) {
    const closed = await closedPeriods(await pool())
    if (wanted === undefined) {
      const lines = closed.map(
        ({ month, closedAt, author }) =>
          `${month}  closed ${closedAt.toISOString()} by ${author}\n`,
      )
      await write(lines.length > 0 ? lines.join('') : 'No month is closed.\n')
      return 0
    }
    const month = monthName(parseMonth(wanted).from)
    if (!parseReportPeriod(month)) throw new UsageError(`not a month of 2000 to 2099: ${wanted}`)
    if (closed.some((period) => period.month >= month)) {
      await write(`${month} is closed.\n`)
      return 0
    }
    const items = await closingChecklist(await pool(), month)
    for (const { name, open, description, advice } of items) {
      const line = `${name}: ${description}`
      await write(open === 0n ? `met  ${line}\n` : `missing  ${line} ${advice}\n`)
    }
    return missingItems(items).length === 0 ? 0 : EXIT_FAILED
  },
}
