import type { Pool } from 'pg'
import type { Write } from '../command.ts'
import { type Program, runProgram } from '../run-program.ts'
import { acceptRestoreCommand } from './accept-restore.ts'
import { conversionCommand } from './conversion.ts'
import { documentsCommand } from './documents.ts'
import { exceptionsCommand } from './exceptions.ts'
import { exportCommand } from './export.ts'
import { statementReport } from './financial-reports.ts'
import { periodsCommand } from './periods.ts'
import { publishCommand } from './publish.ts'
import { rebuildCommand } from './rebuild.ts'
import { balancesCommand, statementCommand } from './reports.ts'
import { retentionCommand } from './retention.ts'
import { checkpointsCommand, verifyCommand } from './verify.ts'

const LEDGER: Program = {
  name: 'ledger',
  commands: {
    verify: verifyCommand,
    checkpoints: checkpointsCommand,
    publish: publishCommand,
    balances: balancesCommand,
    statement: statementCommand,
    'income-statement': statementReport('income-statement', 'income, expenses and net income'),
    'balance-sheet': statementReport('balance-sheet', 'assets, liabilities and equity at the end'),
    'cash-flow': statementReport('cash-flow', 'change in cash (USDC), indirect method,'),
    conversion: conversionCommand,
    documents: documentsCommand,
    export: exportCommand,
    periods: periodsCommand,
    exceptions: exceptionsCommand,
    rebuild: rebuildCommand,
    'accept-restore': acceptRestoreCommand,
    retention: retentionCommand,
  },
  footer: 'Instants are UTC: 2026-11, 2026-11-21 or ISO 8601.',
}

/**
 * Runs `npm run ledger`. @param connect opens connections of the role `hub_app`
 * @returns the exit code: 0; 1 if verification fails or nothing was done; 2 for a usage error
 */
export const ledgerCommand = (
  connect: () => Promise<Pool>,
  args: readonly string[],
  write: Write,
  tell?: Write,
  dataDir?: string,
): Promise<number> => runProgram(LEDGER, { connect, args, write, tell, dataDir })
