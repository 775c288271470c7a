import type { PoolClient } from 'pg'
import { type AuditedChange, withAudit } from '../../../core/audit/record.ts'
import { systemClock } from '../../../core/clock.ts'
import { uuidv7 } from '../../../core/ids.ts'
import {
  adjust,
  type EntryIdentity,
  NotPostable,
  transferCredits,
} from '../../../core/ledger/adjust.ts'
import type { LedgerOutcome } from '../../../core/ledger/events.ts'
import { ledgerInTransaction, type PostingLedger } from '../../../core/ledger/in-transaction.ts'
import { creditsOf } from '../../../core/ledger/postings.ts'
import { type Decision, reverseCall } from '../../../core/ledger/reverse.ts'
import { ImpossibleValueDate, readUsedValueDate } from '../../../core/ledger/value-date.ts'
import { type Micros, usd } from '../../../core/money.ts'
import { actorNamed, attributed, currentUser } from '../author.ts'
import {
  type Command,
  type CommandContext,
  EXIT_FAILED,
  type OptionValues,
  optional,
  parseInstant,
  required,
  UsageError,
} from '../command.ts'

/** Options of commands that post entries: who decided and why. */
const DECISION_OPTIONS = { author: { type: 'string' }, reason: { type: 'string' } } as const
const KEY_OPTION = { key: { type: 'string' } } as const

export const adjustCommand: Command = {
  usage: '--debit ACCOUNT --credit ACCOUNT --amount 1.25 --author WHO --reason WHY',
  description: `post a correction [--date 2026-11-03: its value date] [--shard N]
[--provider ID: whose debt it changes]
[--key NAME: idempotency key; the same key posts once]`,
  options: {
    ...DECISION_OPTIONS,
    ...KEY_OPTION,
    debit: { type: 'string' },
    credit: { type: 'string' },
    amount: { type: 'string' },
    date: { type: 'string' },
    shard: { type: 'string' },
    provider: { type: 'string' },
  },
  async run(context, values) {
    const date = optional(values['date'])
    const shard = optional(values['shard'])
    const adjustment = {
      debit: required(values['debit'], '--debit'),
      credit: required(values['credit'], '--credit'),
      amount: amountOf(values),
      valueDate: date === undefined ? undefined : parseInstant(date),
      shard: shard === undefined ? undefined : Number(shard),
      provider: optional(values['provider']),
    }
    const decision = decisionOf(values)
    const once = entryIdentityOf(values)
    const change = { act: 'entry.adjust', subject: once.id, after: adjustment } as const
    const code = await postEntry(context, () =>
      postAudited(context, decision, change, (client, books, by) =>
        adjust(client, books, adjustment, by, once),
      ),
    )
    if (code === 0 && adjustment.valueDate) {
      const pool = await context.pool()
      const { note } = await readUsedValueDate(pool, once.id, adjustment.valueDate)
      if (note !== null) await context.write(`${note}\n`)
    }
    return code
  },
}

export const refundCommand: Command = {
  usage: 'CALL --author WHO --reason WHY [--amount 1.25]',
  description: 'refund a settled call, in full or in part, once',
  options: { ...DECISION_OPTIONS, amount: { type: 'string' } },
  words: 1,
  async run(context, values, [call = '']) {
    const decision = decisionOf(values)
    const amount = values['amount'] === undefined ? undefined : amountOf(values)
    const pool = await context.pool()
    const { rows } = await pool.query<{ code: string }>(
      `SELECT a.code FROM ledger.journal j JOIN ledger.account a ON a.id = j.owner
       WHERE j.id::text = $1 AND j.phase = 2`,
      [call],
    )
    const [owner] = rows
    if (!owner) throw new UsageError(`no settled call ${call}`)
    const ledger = await context.ledger()
    const hold = { call, owner: await ledger.account(owner.code) }
    const after = { refunded: amount ?? 'all of it' }
    const change = { act: 'call.refund', subject: call, after } as const
    return postEntry(context, () =>
      postAudited(context, decision, change, (client, books, by) =>
        reverseCall(client, books, hold, by, amount),
      ),
    )
  },
}

export const transferCommand: Command = {
  usage: '--from KEY_ID --to KEY_ID --amount 1.25 [--key NAME]',
  description: 'move credits between two keys of one principal',
  options: {
    ...KEY_OPTION,
    from: { type: 'string' },
    to: { type: 'string' },
    amount: { type: 'string' },
  },
  async run(context, values) {
    const keys = [required(values['from'], '--from'), required(values['to'], '--to')] as const
    const amount = amountOf(values)
    return postEntry(context, async () => {
      const ledger = await context.ledger()
      const [from, to] = [
        await ledger.account(creditsOf(keys[0])),
        await ledger.account(creditsOf(keys[1])),
      ]
      const once = entryIdentityOf(values)
      const decision = { author: currentUser(), reason: 'Transferred on the command line.' }
      const after = { from: keys[0], to: keys[1], amount, asset: 'USDC' }
      const change = { act: 'credits.transfer', subject: once.id, after } as const
      return postAudited(context, decision, change, (client, books) =>
        transferCredits(client, books, { from, to, amount }, once),
      )
    })
  },
}

/** Posts an entry and its audit record in one transaction. */
const postAudited = async (
  context: CommandContext,
  decision: Decision,
  change: AuditedChange,
  work: (client: PoolClient, books: PostingLedger, by: Decision) => Promise<LedgerOutcome>,
): Promise<LedgerOutcome> => {
  const ledger = await context.ledger()
  const actor = actorNamed(decision.author)
  return withAudit(await context.pool(), actor, decision.reason, async (client, note) => {
    const poster = ledgerInTransaction(ledger, client)
    const outcome = await work(client, poster, attributed(decision))
    if (outcome === 'applied') note(change)
    return outcome
  })
}

const OUTCOME_MESSAGES: Readonly<Record<LedgerOutcome, string>> = {
  applied: 'Posted.',
  replayed: 'Already posted; nothing changed.',
  insufficient_funds: 'Not posted: insufficient funds.',
  no_such_hold: 'Not posted: the call was not charged.',
  above_hold: 'Not posted: the call was charged less.',
  id_reused_with_other_terms: 'Not posted: another entry exists under this key or call.',
}

/** Posts an entry, reports the outcome and returns the exit code. */
async function postEntry(
  { write }: CommandContext,
  entry: () => Promise<LedgerOutcome>,
): Promise<number> {
  try {
    const outcome = await entry()
    await write(`${OUTCOME_MESSAGES[outcome]}\n`)
    return outcome === 'applied' || outcome === 'replayed' ? 0 : EXIT_FAILED
  } catch (error) {
    const isRefusal = error instanceof NotPostable || error instanceof ImpossibleValueDate
    if (!isRefusal && !isConstraintViolation(error)) throw error
    await write(`Not posted: ${error.message}.\n`)
    return EXIT_FAILED
  }
}

/** Returns true for a violated rule of the database (SQLSTATE 23514, or AH001 of the ledger). */
const isConstraintViolation = (error: unknown): error is Error =>
  error instanceof Error && /^(?:23514|AH001)$/.test(String((error as { code?: unknown }).code))

/** Reads --author and --reason. @throws UsageError */
export function decisionOf(values: OptionValues): Decision {
  return {
    author: required(values['author'], '--author'),
    reason: required(values['reason'], '--reason'),
  }
}

const entryIdentityOf = (values: OptionValues): EntryIdentity => ({
  id: uuidv7(systemClock.now().getTime()),
  key: optional(values['key']),
})

function amountOf(values: OptionValues): Micros {
  const text = required(values['amount'], '--amount')
  try {
    const amount = usd(text)
    if (amount > 0n) return amount
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
  throw new UsageError('--amount must be above zero')
}
