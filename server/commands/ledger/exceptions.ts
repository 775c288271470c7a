import type { Pool } from 'pg'
import { decimal } from '../../../core/money.ts'
import {
  listExceptions,
  type ReconciliationException,
} from '../../../core/reconciliation/exceptions.ts'
import { type Command, EXIT_FAILED, toJson } from '../command.ts'

export const exceptionsCommand: Command = {
  usage: '[--all] [--json]',
  description: `differences between the ledger and the platform wallets' USDC on chain (checked
every minute); exit code 1 if any is open; --all includes resolved ones`,
  options: { all: { type: 'boolean' }, json: { type: 'boolean' } },
  async run({ pool, write }, values) {
    const runs = await lastRuns(await pool())
    const found = await listExceptions(await pool(), { resolved: values['all'] === true })
    if (values['json'] === true) await write(toJson({ runs, exceptions: found }))
    else
      await write(
        [...runs.map(runLine), ...found.map(describeException), summarize(found, runs), '\n'].join(
          '',
        ),
      )
    return found.some(({ resolvedAt }) => resolvedAt === null) ? EXIT_FAILED : 0
  },
}

interface ReconciliationRun {
  readonly wallet: string
  readonly toBlock: bigint
  readonly chain: bigint | null
  readonly ledger: bigint
  readonly pending: number
  readonly at: Date
}

async function lastRuns(pool: Pool): Promise<readonly ReconciliationRun[]> {
  const { rows } = await pool.query<ReconciliationRun>(
    `SELECT DISTINCT ON (wallet) wallet, to_block AS "toBlock", chain_balance AS chain,
       ledger_balance AS ledger, pending, at
     FROM hub.reconciliation ORDER BY wallet, id DESC`,
  )
  return rows
}

function runLine({ wallet, toBlock, chain, ledger, pending, at }: ReconciliationRun): string {
  const onChain = chain === null ? 'not read completely yet' : decimal(chain)
  return (
    `${wallet.padEnd(9)} block ${toBlock}  chain ${onChain}  ledger ${decimal(ledger)}  ` +
    `${pending} pending  ${at.toISOString()}\n`
  )
}

function describeException(found: ReconciliationException): string {
  const { id, wallet, kind, amount, reason, tx, block, entry, resolution, author } = found
  const side =
    amount < 0n ? `chain has ${decimal(-amount)} less` : `chain has ${decimal(amount)} more`
  const facts = [
    ...(tx === null ? [] : [`tx ${tx}`]),
    ...(block === null ? [] : [`block ${block}`]),
    ...(entry === null ? [] : [`entry ${entry}`]),
    ...(resolution === null ? [] : [`${resolution}${author === null ? '' : ` by ${author}`}`]),
  ]
  return `\n${id}  ${wallet} ${kind}, ${side}\n   ${reason}\n   ${facts.join(', ')}\n`
}

function summarize(
  found: readonly ReconciliationException[],
  runs: readonly ReconciliationRun[],
): string {
  const open = found.filter(({ resolvedAt }) => resolvedAt === null).length
  if (runs.length === 0) return 'Not reconciled yet: the hub does it every minute.'
  return open === 0 ? 'Ledger and chain agree.' : `\n${open} to resolve.`
}
