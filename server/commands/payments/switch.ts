import { setOutgoingPaused } from '../../../core/finance/decisions.ts'
import { OutgoingSwitch } from '../../../core/payments/operations/outgoing-switch.ts'
import { authorOf } from '../author.ts'
import {
  type Command,
  type CommandContext,
  type OptionValues,
  required,
  toJson,
} from '../command.ts'

const OPTIONS = {
  reason: { type: 'string' },
  author: { type: 'string' },
  json: { type: 'boolean' },
} as const

export const pauseCommand: Command = {
  usage: '--reason WHY [--author WHO] [--json]',
  description: `pause payments to sellers in all processes at once, without a restart; calls,
purchases and refunds continue`,
  options: OPTIONS,
  run: (context, values) =>
    setPaused(context, values, true, 'Payments to sellers are paused in all processes.'),
}

export const resumeCommand: Command = {
  usage: '--reason WHY [--author WHO] [--json]',
  description: 'resume payments to sellers',
  options: OPTIONS,
  run: (context, values) => setPaused(context, values, false, 'Payments to sellers are resumed.'),
}

async function setPaused(
  { pool, write }: CommandContext,
  values: OptionValues,
  paused: boolean,
  said: string,
) {
  const reason = required(values['reason'], '--reason')
  await setOutgoingPaused({ pool: await pool() }, authorOf(values), paused, reason)
  const outgoing = new OutgoingSwitch(await pool())
  await write(values['json'] === true ? toJson(await outgoing.state()) : `${said}\n`)
  return 0
}
