import type { Pool } from 'pg'
import { audited, operator } from '../../../core/audit/audit.ts'
import { booksWithin } from '../../../core/ledger/in-transaction.ts'
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
import { decisionOf } from './book.ts'
import { type Command, FAILED, Misuse, needed, optional, toJson, type Values } from './command.ts'

export const exceptionsCommand: Command = {
  usage: '[--all] [--json]',
  about: `where our USDC in the books and the transfers of our wallets disagree, as the hub found it
(it looks every minute); exit code 1 when any is open; --all with those that are resolved`,
  options: { all: { type: 'boolean' }, json: { type: 'boolean' } },
  async run({ pool, write }, values) {
    const runs = await lastRuns(await pool())
    const found = await listExceptions(await pool(), { resolved: values['all'] === true })
    if (values['json'] === true) await write(toJson({ runs, exceptions: found }))
    else
      await write(
        `${runs.map(runLine).join('')}${found.map(told).join('')}${verdict(found, runs)}\n`,
      )
    return found.some(({ resolvedAt }) => resolvedAt === null) ? FAILED : 0
  },
}

export const resolveCommand: Command = {
  usage: 'ID --as surplus|shortfall|identified|explained --author WHO --reason WHY',
  about: `account for an exception: book what the chain has more (into suspense) or less (as an
expense), or as credits of a key [--key KEY_ID]; or say which others it cancels out with
[--with ID,ID], so that nothing is to be booked`,
  options: {
    as: { type: 'string' },
    key: { type: 'string' },
    with: { type: 'string' },
    author: { type: 'string' },
    reason: { type: 'string' },
  },
  words: 1,
  async run(context, values, [word]) {
    const id = idOf(needed(word, 'ID'))
    const resolution = resolutionOf(values)
    const decision = decisionOf(values)
    const ledger = await context.ledger()
    const { author, reason } = decision
    try {
      const outcome = await audited(
        await context.pool(),
        operator(author),
        reason,
        async (client, note) => {
          const ports = { client, ledger: booksWithin(ledger, client) }
          const ended = await resolveException(ports, id, resolution, decision)
          if (ended === 'resolved') {
            note({ act: 'exception.resolve', subject: String(id), after: resolution })
          }
          return ended
        },
      )
      await context.write(outcome === 'resolved' ? 'Resolved.\n' : 'It was resolved so before.\n')
      return 0
    } catch (error) {
      if (!(error instanceof NotResolvable)) throw error
      await context.write(`Not resolved: ${error.message}\n`)
      return FAILED
    }
  },
}

function resolutionOf(values: Values): Resolution {
  const decision = needed(values['as'], '--as')
  if (decision === 'surplus' || decision === 'shortfall') return { decision }
  if (decision === 'identified') {
    return { decision, credits: creditsOf(needed(values['key'], '--key')) }
  }
  if (decision !== 'explained') throw new Misuse(`--as cannot be ${decision}`)
  const together = optional(values['with'])
  return {
    decision,
    ...(together === undefined ? {} : { together: together.split(',').map(idOf) }),
  }
}

function idOf(text: string): bigint {
  if (!/^\d{1,18}$/.test(text)) throw new Misuse(`not the number of an exception: ${text}`)
  return BigInt(text)
}

interface Run {
  readonly wallet: string
  readonly toBlock: bigint
  readonly chain: bigint | null
  readonly ledger: bigint
  readonly pending: number
  readonly at: Date
}

async function lastRuns(pool: Pool): Promise<readonly Run[]> {
  const { rows } = await pool.query<Run>(
    `SELECT DISTINCT ON (wallet) wallet, to_block AS "toBlock", chain_balance AS chain,
       ledger_balance AS ledger, pending, at
     FROM hub.reconciliation ORDER BY wallet, id DESC`,
  )
  return rows
}

function runLine({ wallet, toBlock, chain, ledger, pending, at }: Run): string {
  const onChain = chain === null ? 'not read to its end yet' : decimal(chain)
  return (
    `${wallet.padEnd(9)} block ${toBlock}  chain ${onChain}  books ${decimal(ledger)}  ` +
    `${pending} pending  ${at.toISOString()}\n`
  )
}

function told(found: ReconciliationException): string {
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

function verdict(found: readonly ReconciliationException[], runs: readonly Run[]): string {
  const open = found.filter(({ resolvedAt }) => resolvedAt === null).length
  if (runs.length === 0) return 'The hub has not looked yet: it does every minute.'
  return open === 0 ? 'Books and chain agree.' : `\n${open} to be accounted for.`
}
