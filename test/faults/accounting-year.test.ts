import { accountingYearTests } from '../core/finance/accounting-year.ts'

/** Calls per month; two entries each, so that the year has more than 200,000 entries. */
const CALLS_PER_MONTH = Number(process.env['HUB_YEAR_CALLS'] ?? 8_500)

describe('a large year of business', function () {
  this.timeout(1_800_000)
  accountingYearTests({ callsPerMonth: CALLS_PER_MONTH, brief: false })
})
