import type { Pool } from 'pg'
import type { Write } from '../ledger/command.ts'
import { type Program, runProgram } from '../run-program.ts'
import { listCommand } from './list.ts'
import { statusCommand } from './status.ts'
import { pauseCommand, resumeCommand } from './switch.ts'

const programOf = (finality: bigint): Program => ({
  name: 'payments',
  commands: {
    status: statusCommand(finality),
    list: listCommand(finality),
    pause: pauseCommand,
    resume: resumeCommand,
  },
  remark: 'Amounts are dollars; with --json, microdollars.',
})

/**
 * The command line of payments.
 * @param finality blocks with a small transfer and on top of it before it is final
 * @param connect gives connections of the role `hub_app`; asked only by commands that need them
 * @param args what follows `npm run payments --`
 * @returns the exit code: 0, 1 when a person should look, 2 for a misuse
 */
export const paymentsCommand = (
  finality: bigint,
  connect: () => Promise<Pool>,
  args: readonly string[],
  write: Write,
  tell?: Write,
): Promise<number> => runProgram(programOf(finality), { connect, args, write, tell })
