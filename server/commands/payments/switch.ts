import { setOutgoingPaused } from '../../../core/finance/decisions.ts'
import {
  AUTOMATIC_PAUSE_ADVICE,
  OutgoingSwitch,
  type SwitchState,
} from '../../../core/payments/operations/outgoing-switch.ts'
import { authorOf } from '../author.ts'
import {
  type Command,
  type CommandContext,
  EXIT_FAILED,
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
  run: (context, values) => setPaused(context, values, true),
}

export const resumeCommand: Command = {
  usage: '--reason WHY [--author WHO] [--json]',
  description: 'resume payments to sellers',
  options: OPTIONS,
  run: (context, values) => setPaused(context, values, false),
}

async function setPaused({ pool, write }: CommandContext, values: OptionValues, paused: boolean) {
  const reason = required(values['reason'], '--reason')
  await setOutgoingPaused({ pool: await pool() }, authorOf(values), paused, reason)
  const state = await new OutgoingSwitch(await pool()).state()
  await write(values['json'] === true ? toJson(state) : `${describeState(state!)}\n`)
  return state!.paused === paused ? 0 : EXIT_FAILED
}

function describeState({ paused, automatic, reason }: SwitchState): string {
  if (automatic) return `Payments to sellers are still paused: ${reason}\n${AUTOMATIC_PAUSE_ADVICE}`
  return `Payments to sellers are ${paused ? 'paused in all processes' : 'resumed'}.`
}
