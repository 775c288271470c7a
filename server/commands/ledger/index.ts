import type { Pool } from 'pg'
import { type Program, runProgram } from '../run-program.ts'
import { adjustCommand, refundCommand, transferCommand } from './book.ts'
import { exceptionsCommand, resolveCommand } from './chain.ts'
import type { Write } from './command.ts'
import { exportCommand } from './export.ts'
import { rebuildCommand } from './rebuild.ts'
import { balancesCommand, closeCommand, statementCommand } from './reports.ts'
import { checkpointsCommand, verifyCommand } from './verify.ts'

const LEDGER: Program = {
  name: 'ledger',
  commands: {
    verify: verifyCommand,
    checkpoints: checkpointsCommand,
    balances: balancesCommand,
    statement: statementCommand,
    export: exportCommand,
    close: closeCommand,
    adjust: adjustCommand,
    refund: refundCommand,
    transfer: transferCommand,
    exceptions: exceptionsCommand,
    resolve: resolveCommand,
    rebuild: rebuildCommand,
  },
  remark: 'Instants are UTC: 2026-11, 2026-11-21 or ISO 8601.',
}

/**
 * The command line of the books.
 * @param connect gives connections of the role `hub_app`; asked only by commands that need them
 * @param args what follows `npm run ledger --`
 * @returns the exit code: 0, 1 when the books are not sound or the answer is no, 2 for a misuse
 */
export const ledgerCommand = (
  connect: () => Promise<Pool>,
  args: readonly string[],
  write: Write,
  tell?: Write,
): Promise<number> => runProgram(LEDGER, { connect, args, write, tell })
