import { accountingYearTests } from './accounting-year.ts'

describe('a year of business', function () {
  this.timeout(300_000)
  accountingYearTests({ callsPerMonth: 120, brief: true })
})
