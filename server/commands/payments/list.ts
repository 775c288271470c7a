import type { Pool } from 'pg'
import { decimal } from '../../../core/money.ts'
import { forecastPayment } from '../../../core/payments/operations/forecast.ts'
import {
  listPayments,
  type PaymentDetails,
  type PaymentFilter,
} from '../../../core/payments/operations/overview.ts'
import { showPayment } from '../../rest/finance/payments.ts'
import { type Command, FAILED, Misuse, optional, toJson, type Values } from '../ledger/command.ts'
import { age } from './age.ts'

const DEFAULT = 100
const MOST = 10_000

export const listCommand = (finality: bigint): Command => ({
  usage: '[--all] [--direction in|out] [--limit N] [--json]',
  about: `payments whose outcome or finality is open, the oldest first, each with what comes next;
--all: final ones too, the newest first; exit code 1 when one is overdue`,
  options: {
    all: { type: 'boolean' },
    direction: { type: 'string' },
    limit: { type: 'string' },
    json: { type: 'boolean' },
  },
  async run({ pool, write, tell }, values) {
    const filter = filterOf(values)
    const { rows, more } = await read(await pool(), filter)
    if (values['json'] === true) {
      await write(toJson({ data: rows.map((seen) => showPayment(seen, finality)), has_more: more }))
    } else {
      await write(rows.map((seen) => told(seen, finality)).join(''))
      if (rows.length === 0) await write('None.\n')
    }
    if (more) await tell(`There are more: --limit takes up to ${MOST}.\n`)
    return rows.some((seen) => forecastPayment(seen, finality).isOverdue) ? FAILED : 0
  },
})

/** One row more than asked for is read, to know whether there are more. */
async function read(pool: Pool, filter: PaymentFilter) {
  const rows = await listPayments(pool, { ...filter, limit: filter.limit + 1 })
  return { rows: rows.slice(0, filter.limit), more: rows.length > filter.limit }
}

/** @throws Misuse */
function filterOf(values: Values): PaymentFilter {
  const direction = optional(values['direction'])
  if (direction !== undefined && direction !== 'in' && direction !== 'out') {
    throw new Misuse(`--direction is in or out, not ${direction}`)
  }
  const text = optional(values['limit']) ?? String(DEFAULT)
  const limit = /^[1-9]\d{0,4}$/.test(text) ? Number(text) : 0
  if (limit < 1 || limit > MOST) throw new Misuse(`--limit is 1 to ${MOST}, not ${text}`)
  return { open: values['all'] !== true, direction, limit }
}

function told(seen: PaymentDetails, finality: bigint): string {
  const { id, direction, state, amount, host, counterparty, transaction, ageSeconds } = seen
  const { nextStep } = forecastPayment(seen, finality)
  const who = direction === 'in' ? `from ${counterparty}` : `${host}, to ${counterparty}`
  const facts = [
    `${id}  ${direction.padEnd(3)} ${state.padEnd(10)} ${decimal(amount).padStart(14)}  ${who}`,
    `   ${age(ageSeconds)} old${transaction === null ? '' : `, tx ${transaction}`}`,
    ...(nextStep === undefined ? [] : [`   ${nextStep}`]),
  ]
  return `${facts.join('\n')}\n`
}
