import type { PoolClient } from 'pg'
import { audited, type Change, operator } from '../../../core/audit/audit.ts'
import { systemClock } from '../../../core/clock.ts'
import { uuidv7 } from '../../../core/ids.ts'
import { adjust, NotBookable, type Once, transferCredits } from '../../../core/ledger/adjust.ts'
import type { Outcome } from '../../../core/ledger/events.ts'
import { type Books, booksWithin } from '../../../core/ledger/in-transaction.ts'
import { creditsOf } from '../../../core/ledger/postings.ts'
import { type Decision, reverseCall } from '../../../core/ledger/reverse.ts'
import { type Micros, usd } from '../../../core/money.ts'
import {
  type Command,
  type Context,
  FAILED,
  instant,
  Misuse,
  needed,
  optional,
  type Values,
} from './command.ts'

/** What finance books by hand. Each says who decided it and why, and is booked once. */
const DECISION = {
  author: { type: 'string' },
  reason: { type: 'string' },
} as const
const ONCE = { key: { type: 'string' } } as const

export const adjustCommand: Command = {
  usage: '--debit ACCOUNT --credit ACCOUNT --amount 1.25 --author WHO --reason WHY',
  about: `book a correction [--date 2026-11-03: its value date] [--shard N]
[--key NAME: the same name again is the same entry]`,
  options: {
    ...DECISION,
    ...ONCE,
    debit: { type: 'string' },
    credit: { type: 'string' },
    amount: { type: 'string' },
    date: { type: 'string' },
    shard: { type: 'string' },
  },
  async run(context, values) {
    const date = optional(values['date'])
    const shard = optional(values['shard'])
    const adjustment = {
      debit: needed(values['debit'], '--debit'),
      credit: needed(values['credit'], '--credit'),
      amount: amountOf(values),
      valueDate: date === undefined ? undefined : instant(date),
      shard: shard === undefined ? undefined : Number(shard),
    }
    const decision = decisionOf(values)
    const once = onceOf(values)
    const change = { act: 'entry.adjust', subject: once.id, after: adjustment } as const
    return book(context, () =>
      decided(context, decision, change, (client, books) =>
        adjust(client, books, adjustment, decision, once),
      ),
    )
  },
}

export const refundCommand: Command = {
  usage: 'CALL --author WHO --reason WHY [--amount 1.25]',
  about: 'give back what a settled call was charged, or a part of it, once',
  options: { ...DECISION, amount: { type: 'string' } },
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
    if (!owner) throw new Misuse(`no call ${call} was resolved`)
    const ledger = await context.ledger()
    const hold = { call, owner: await ledger.account(owner.code) }
    const after = { refunded: amount ?? 'all of it' }
    const change = { act: 'call.refund', subject: call, after } as const
    return book(context, () =>
      decided(context, decision, change, (client, books) =>
        reverseCall(client, books, hold, decision, amount),
      ),
    )
  },
}

export const transferCommand: Command = {
  usage: '--from KEY_ID --to KEY_ID --amount 1.25 [--key NAME]',
  about: 'move credits between two keys of one principal',
  options: {
    ...ONCE,
    from: { type: 'string' },
    to: { type: 'string' },
    amount: { type: 'string' },
  },
  async run(context, values) {
    const keys = [needed(values['from'], '--from'), needed(values['to'], '--to')] as const
    const amount = amountOf(values)
    return book(context, async () => {
      const ledger = await context.ledger()
      const [from, to] = [
        await ledger.account(creditsOf(keys[0])),
        await ledger.account(creditsOf(keys[1])),
      ]
      return transferCredits(await context.pool(), ledger, { from, to, amount }, onceOf(values))
    })
  },
}

/** Books what somebody decided, in the transaction that tells the audit log of it. */
const decided = async (
  context: Context,
  { author, reason }: Decision,
  change: Change,
  work: (client: PoolClient, books: Books) => Promise<Outcome>,
): Promise<Outcome> => {
  const ledger = await context.ledger()
  return audited(await context.pool(), operator(author), reason, async (client, note) => {
    const outcome = await work(client, booksWithin(ledger, client))
    if (outcome === 'applied') note(change)
    return outcome
  })
}

const ANSWERS: Readonly<Record<Outcome, string>> = {
  applied: 'Booked.',
  replayed: 'It was booked before; nothing changed.',
  insufficient_funds: 'Not booked: an account does not have so much.',
  no_such_hold: 'Not booked: the call was not charged.',
  above_hold: 'Not booked: the call was charged less.',
  id_reused_with_other_terms: 'Not booked: something else was booked under this key or call.',
}

/** Books, says how it ended, and gives the exit code. */
async function book({ write }: Context, entry: () => Promise<Outcome>): Promise<number> {
  try {
    const outcome = await entry()
    await write(`${ANSWERS[outcome]}\n`)
    return outcome === 'applied' || outcome === 'replayed' ? 0 : FAILED
  } catch (error) {
    if (!(error instanceof NotBookable) && !isRefused(error)) throw error
    await write(`Not booked: ${error.message}.\n`)
    return FAILED
  }
}

/** The rules of the database, told as it tells them. */
const isRefused = (error: unknown): error is Error =>
  error instanceof Error && /^(?:23514|AH001)$/.test(String((error as { code?: unknown }).code))

/** Who decided it, and why. @throws Misuse */
export function decisionOf(values: Values): Decision {
  return {
    author: needed(values['author'], '--author'),
    reason: needed(values['reason'], '--reason'),
  }
}

const onceOf = (values: Values): Once => ({
  id: uuidv7(systemClock.now().getTime()),
  key: optional(values['key']),
})

function amountOf(values: Values): Micros {
  const text = needed(values['amount'], '--amount')
  try {
    const amount = usd(text)
    if (amount > 0n) return amount
  } catch (error) {
    throw new Misuse((error as Error).message)
  }
  throw new Misuse('--amount must be above zero')
}
