import type { Pool } from 'pg'
import type { Write } from '../command.ts'
import { type Program, runProgram } from '../run-program.ts'
import type { KeysDeps } from './deps.ts'
import { listCommand } from './list.ts'
import { resealCommand, retireCommand, rewrapCommand, rotateCommand } from './rotate.ts'

const programOf = (deps: KeysDeps): Program => ({
  name: 'keys',
  commands: {
    list: listCommand(deps),
    rotate: rotateCommand(deps),
    retire: retireCommand(deps),
    reseal: resealCommand(deps),
    rewrap: rewrapCommand(deps),
  },
  footer: 'Secrets are never shown. Every change is recorded in the audit log.',
})

/**
 * Runs `npm run keys`.
 * @param connect opens connections of the role `hub_app`; called only by commands that need them
 * @param args arguments after `npm run keys --`
 * @returns the exit code: 0; 1 if the rotation is not possible now; 2 for a usage error
 */
export const keysCommand = (
  deps: KeysDeps,
  connect: () => Promise<Pool>,
  args: readonly string[],
  write: Write,
  tell?: Write,
): Promise<number> => runProgram(programOf(deps), { connect, args, write, tell })
