import type { Pool } from 'pg'
import { decimal } from '../../../core/money.ts'
import { finalityOn, type NetworkFinality } from '../../../core/payments/networks.ts'
import { forecastPayment } from '../../../core/payments/operations/forecast.ts'
import {
  listPayments,
  type PaymentDetails,
  type PaymentFilter,
} from '../../../core/payments/operations/overview.ts'
import { showPayment } from '../../rest/finance/payments.ts'
import {
  type Command,
  EXIT_FAILED,
  type OptionValues,
  optional,
  toJson,
  UsageError,
} from '../command.ts'
import { age } from './age.ts'

const LIMIT_DEFAULT = 100
const LIMIT_MAX = 10_000

export const listCommand = (finality: NetworkFinality): Command => ({
  usage: '[--all] [--direction in|out] [--limit N] [--json]',
  description: `payments without a final outcome, oldest first, each with its next step;
--all: final ones too, newest first; exit code 1 if any is overdue`,
  options: {
    all: { type: 'boolean' },
    direction: { type: 'string' },
    limit: { type: 'string' },
    json: { type: 'boolean' },
  },
  async run({ pool, write, log: tell }, values) {
    const filter = parseFilter(values)
    const { rows, more } = await readPayments(await pool(), filter)
    if (values['json'] === true) {
      await write(toJson({ data: rows.map((seen) => showPayment(seen, finality)), has_more: more }))
    } else {
      await write(rows.map((seen) => describePayment(seen, finality)).join(''))
      if (rows.length === 0) await write('None.\n')
    }
    if (more) await tell(`There are more: --limit takes up to ${LIMIT_MAX}.\n`)
    const isOverdue = rows.some((seen) => forecastOf(seen, finality).isOverdue)
    return isOverdue ? EXIT_FAILED : 0
  },
})

/** Reads one row more than the limit, to know whether there are more. */
async function readPayments(pool: Pool, filter: PaymentFilter) {
  const rows = await listPayments(pool, { ...filter, limit: filter.limit + 1 })
  return { rows: rows.slice(0, filter.limit), more: rows.length > filter.limit }
}

/** @throws UsageError */
function parseFilter(values: OptionValues): PaymentFilter {
  const direction = optional(values['direction'])
  if (direction !== undefined && direction !== 'in' && direction !== 'out') {
    throw new UsageError(`--direction is in or out, not ${direction}`)
  }
  const text = optional(values['limit']) ?? String(LIMIT_DEFAULT)
  const limit = /^[1-9]\d{0,4}$/.test(text) ? Number(text) : 0
  if (limit < 1 || limit > LIMIT_MAX)
    throw new UsageError(`--limit is 1 to ${LIMIT_MAX}, not ${text}`)
  return { open: values['all'] !== true, direction, limit }
}

const forecastOf = (seen: PaymentDetails, finality: NetworkFinality) =>
  forecastPayment(seen, finalityOn(finality, seen.network))

function describePayment(seen: PaymentDetails, finality: NetworkFinality): string {
  const { id, direction, state, amount, host, counterparty, transaction, ageSeconds } = seen
  const { nextStep } = forecastOf(seen, finality)
  const who = direction === 'in' ? `from ${counterparty}` : `${host}, to ${counterparty}`
  const facts = [
    `${id}  ${direction.padEnd(3)} ${state.padEnd(10)} ${decimal(amount).padStart(14)}  ${who}`,
    `   ${age(ageSeconds)} old${transaction === null ? '' : `, tx ${transaction}`}`,
    ...(nextStep === undefined ? [] : [`   ${nextStep}`]),
  ]
  return `${facts.join('\n')}\n`
}
