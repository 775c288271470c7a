import { userInfo } from 'node:os'
import { type Actor, operator } from '../../core/audit/record.ts'
import { type OptionValues, optional } from './command.ts'

/** Returns the author of a command: `--author`, or the user of the operating system. */
export const authorOf = (values: OptionValues): Actor =>
  actorNamed(optional(values['author'])?.trim() || currentUser())

/** Actor of a command, with the user of the operating system for the audit log. */
export const actorNamed = (name: string): Actor => operator(name, currentUser())

function currentUser(): string {
  try {
    return userInfo().username
  } catch {
    return 'the command line'
  }
}
