import {
  type FinancialStatement,
  financialStatement,
  type ReportLine,
  type StatementName,
} from '../../../core/finance/financial-statements.ts'
import {
  parseReportPeriod,
  previousPeriod,
  type ReportPeriod,
} from '../../../core/finance/report-period.ts'
import { csvLine } from '../../../core/ledger/export/csv.ts'
import { formatUnits } from '../../../core/ledger/export/units.ts'
import {
  type Command,
  EXIT_FAILED,
  type OptionValues,
  optional,
  required,
  toJson,
  UsageError,
} from '../command.ts'

/** Command that writes a financial statement; exit code 1 if its two sides differ. */
export const statementReport = (name: StatementName, description: string): Command => ({
  usage: 'PERIOD [--compare PERIOD] [--csv | --json]',
  description: `${description} of a month (2026-11),
quarter (2026-Q4) or year (2026), in USD, beside the period before or another one`,
  options: {
    compare: { type: 'string' },
    csv: { type: 'boolean' },
    json: { type: 'boolean' },
  },
  words: 1,
  async run({ pool, write }, values, [word]) {
    const period = parsePeriodName(required(word, 'PERIOD'))
    const other = optional(values['compare'])
    const compare = other === undefined ? previousPeriod(period) : parsePeriodName(other)
    const found = await financialStatement(await pool(), name, [period, compare])
    await write(formatOf(values)(found))
    const difference = found.results.find((line) => line.name === 'difference')
    return difference?.amounts.some((amount) => amount !== 0n) ? EXIT_FAILED : 0
  },
})

/** @throws UsageError */
export function parsePeriodName(name: string): ReportPeriod {
  const period = parseReportPeriod(name)
  if (!period) throw new UsageError(`not a period: ${name} (write 2026-11, 2026-Q4 or 2026)`)
  return period
}

const formatOf = ({ csv, json }: OptionValues): ((found: FinancialStatement) => string) =>
  csv === true ? toCsv : json === true ? toJson : toText

const usd = (amount: bigint): string => formatUnits(amount, 6)

/** Label of a line: a group of accounts without the colon that ends its prefix. */
const labelOf = ({ name }: ReportLine): string => name.replace(/:$/, '')

function toCsv({ name, periods, sections, results }: FinancialStatement): string {
  const line = (section: string, each: ReportLine): string =>
    csvLine([section, labelOf(each), ...each.amounts.map(usd)])
  return [
    csvLine(['section', name, ...periods.map((period) => period.name)]),
    ...sections.flatMap((section) => [
      ...section.lines.map((each) => line(section.name, each)),
      line(section.name, { name: 'total', amounts: section.totals }),
    ]),
    ...results.map((each) => line('result', each)),
  ].join('')
}

function toText({ periods, sections, results }: FinancialStatement): string {
  const lines = [...sections.flatMap((section) => section.lines), ...results]
  const width = Math.max(30, ...lines.map(({ name }) => name.length + 2))
  const columns = (cells: readonly string[]): string =>
    cells.map((cell) => cell.padStart(22)).join('')
  const line = (each: ReportLine): string =>
    `${labelOf(each).padEnd(width)}${columns(each.amounts.map(usd))}\n`
  return [
    `${''.padEnd(width)}${columns(periods.map(({ name }) => name))}\n`,
    ...sections.flatMap(({ name, lines: rows, totals }) => [
      `${name}\n`,
      ...rows.map((row) => line({ ...row, name: `  ${row.name}` })),
      line({ name: `total ${name}`, amounts: totals }),
    ]),
    '\n',
    ...results.map(line),
  ].join('')
}
