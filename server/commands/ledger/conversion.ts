import { type ConversionReport, conversionReport } from '../../../core/finance/conversion-report.ts'
import { debitPositive } from '../../../core/ledger/export/units.ts'
import { type Command, required, toJson } from '../command.ts'
import { parsePeriodName } from './financial-reports.ts'

export const conversionCommand: Command = {
  usage: 'PERIOD [--json]',
  description: `explain the accounts between ETH and USDC in a month, quarter or year: what gas
cost, the value of the ETH, and revaluations; debits are positive`,
  options: { json: { type: 'boolean' } },
  words: 1,
  async run({ pool, write }, values, [word]) {
    const period = parsePeriodName(required(word, 'PERIOD'))
    const found = await conversionReport(await pool(), period)
    await write(values['json'] === true ? toJson(found) : describeReport(found))
    return 0
  },
}

function describeReport({ lines, revaluations }: ConversionReport): string {
  const row = (name: string, amount: bigint, asset: string): string =>
    `${name.padEnd(44)}${debitPositive(amount, asset).padStart(28)}\n`
  return [
    ...lines.flatMap(({ account, asset, opening, changes, closing }) => [
      `${account}\n`,
      row('  opening', opening, asset),
      ...changes.map(({ event, entries, amount }) => row(`  ${event} (${entries})`, amount, asset)),
      row('  closing', closing, asset),
    ]),
    '\n',
    ...revaluations.map(
      ({ valueAt, price, source, author }) =>
        `${valueAt.toISOString().slice(0, 10)}  1 ETH = ${price} USDC  ${source}, by ${author}\n`,
    ),
  ].join('')
}
