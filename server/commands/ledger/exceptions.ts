import type { Pool } from 'pg'
import { withAudit } from '../../../core/audit/record.ts'
import { ledgerInTransaction } from '../../../core/ledger/in-transaction.ts'
import { creditsOf } from '../../../core/ledger/postings.ts'
import { decimal } from '../../../core/money.ts'
import {
  listExceptions,
  type ReconciliationException,
} from '../../../core/reconciliation/exceptions.ts'
import {
  NotResolvable,
  type Resolution,
  resolveException,
} from '../../../core/reconciliation/resolve.ts'
import { actorNamed, attributed } from '../author.ts'
import {
  type Command,
  EXIT_FAILED,
  type OptionValues,
  optional,
  required,
  toJson,
  UsageError,
} from '../command.ts'
import { decisionOf } from './post-entries.ts'

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

export const resolveCommand: Command = {
  usage: 'ID --as surplus|shortfall|identified|explained --author WHO --reason WHY',
  description: `resolve an exception: post a surplus (to suspense), a shortfall (as an expense) or a
deposit identified as credits of a key [--key KEY_ID]; or name the exceptions it cancels out
with [--with ID,ID], which posts nothing`,
  options: {
    as: { type: 'string' },
    key: { type: 'string' },
    with: { type: 'string' },
    author: { type: 'string' },
    reason: { type: 'string' },
  },
  words: 1,
  async run(context, values, [word]) {
    const id = parseExceptionId(required(word, 'ID'))
    const resolution = parseResolution(values)
    const decision = decisionOf(values)
    const ledger = await context.ledger()
    const { author, reason } = decision
    try {
      const outcome = await withAudit(
        await context.pool(),
        actorNamed(author),
        reason,
        async (client, note) => {
          const ports = { client, ledger: ledgerInTransaction(ledger, client) }
          const ended = await resolveException(ports, id, resolution, attributed(decision))
          if (ended === 'resolved') {
            note({ act: 'exception.resolve', subject: String(id), after: resolution })
          }
          return ended
        },
      )
      await context.write(
        outcome === 'resolved' ? 'Resolved.\n' : 'Already resolved in this way.\n',
      )
      return 0
    } catch (error) {
      if (!(error instanceof NotResolvable)) throw error
      await context.write(`Not resolved: ${error.message}\n`)
      return EXIT_FAILED
    }
  },
}

function parseResolution(values: OptionValues): Resolution {
  const decision = required(values['as'], '--as')
  if (decision === 'surplus' || decision === 'shortfall') return { decision }
  if (decision === 'identified') {
    return { decision, credits: creditsOf(required(values['key'], '--key')) }
  }
  if (decision !== 'explained')
    throw new UsageError(
      `--as must be surplus, shortfall, identified or explained, not ${decision}`,
    )
  const together = optional(values['with'])
  return {
    decision,
    ...(together === undefined ? {} : { together: together.split(',').map(parseExceptionId) }),
  }
}

function parseExceptionId(text: string): bigint {
  if (!/^\d{1,18}$/.test(text)) throw new UsageError(`not an exception id: ${text}`)
  return BigInt(text)
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
