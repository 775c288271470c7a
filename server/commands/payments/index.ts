import type { Pool } from 'pg'
import type { NetworkFinality } from '../../../core/payments/networks.ts'
import type { Write } from '../command.ts'
import { type Program, runProgram } from '../run-program.ts'
import { listCommand } from './list.ts'
import { statusCommand, type WalletAddresses } from './status.ts'
import { pauseCommand, resumeCommand } from './switch.ts'

/** Settings of the hub that the commands read. */
export interface PaymentSettings extends NetworkFinality {
  /** Reads the addresses of the platform wallets. @defaultValue none */
  readonly addresses?: () => Promise<WalletAddresses>
}

const programOf = ({ addresses = async () => ({}), ...finality }: PaymentSettings): Program => ({
  name: 'payments',
  commands: {
    status: statusCommand(finality, addresses),
    list: listCommand(finality),
    pause: pauseCommand,
    resume: resumeCommand,
  },
  footer: 'Amounts are dollars; with --json, microdollars.',
})

/**
 * Runs `npm run payments`.
 * @param settings confirmations before a small transfer is final, by network, and the wallets
 * @param connect opens connections of the role `hub_app`; called only by commands that need them
 * @param args arguments after `npm run payments --`
 * @returns the exit code: 0; 1 if something needs attention; 2 for a usage error
 */
export const paymentsCommand = (
  settings: PaymentSettings,
  connect: () => Promise<Pool>,
  args: readonly string[],
  write: Write,
  tell?: Write,
): Promise<number> => runProgram(programOf(settings), { connect: connect, args, write, tell })
