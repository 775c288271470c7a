import { userInfo } from 'node:os'
import { operator } from '../../../core/audit/record.ts'
import { setOutgoingPaused } from '../../../core/finance/decisions.ts'
import { OutgoingSwitch } from '../../../core/payments/operations/outgoing-switch.ts'
import {
  type Command,
  type Context,
  needed,
  optional,
  toJson,
  type Values,
} from '../ledger/command.ts'

const OPTIONS = {
  reason: { type: 'string' },
  author: { type: 'string' },
  json: { type: 'boolean' },
} as const

export const pauseCommand: Command = {
  usage: '--reason WHY [--author WHO] [--json]',
  about: `stop payments to sellers, at once and on every process, without a restart; calls,
purchases and refunds go on`,
  options: OPTIONS,
  run: (context, values) =>
    set(context, values, true, 'Payments to sellers are paused, on every process.'),
}

export const resumeCommand: Command = {
  usage: '--reason WHY [--author WHO] [--json]',
  about: 'let payments to sellers go on',
  options: OPTIONS,
  run: (context, values) => set(context, values, false, 'Payments to sellers go on.'),
}

async function set({ pool, write }: Context, values: Values, paused: boolean, said: string) {
  const reason = needed(values['reason'], '--reason')
  const author = optional(values['author'])?.trim() || whoAmI()
  await setOutgoingPaused({ pool: await pool() }, operator(author), paused, reason)
  const outgoing = new OutgoingSwitch(await pool())
  await write(values['json'] === true ? toJson(await outgoing.state()) : `${said}\n`)
  return 0
}

/** Who is at the terminal, as far as the system knows. */
function whoAmI(): string {
  try {
    return userInfo().username
  } catch {
    return 'the command line'
  }
}
