import type { Pool } from 'pg'
import { elapsedMs, systemClock } from '../../../core/clock.ts'
import { uuidv7 } from '../../../core/ids.ts'
import type { Asset, LedgerOutcome } from '../../../core/ledger/events.ts'
import { type AccountRef, Ledger, type ReserveOrder } from '../../../core/ledger/ledger.ts'
import type { Micros } from '../../../core/money.ts'

/** A new id of a call or an entry. */
export const newId = (): string => uuidv7(systemClock.now().getTime())

export const micros = (amount: bigint): Micros => amount as Micros

let agents = 0

/** Opens the credits of a new agent, with so much bought. */
export async function agent(books: Ledger, credits: bigint): Promise<AccountRef> {
  const code = `liabilities:agents:key_${++agents}:credits`
  const owner = await books.open(code, 'USDC', { home: 0 })
  if (credits > 0n) {
    const event = { type: 'credits.purchased', credits: code, amount: micros(credits) } as const
    await books.post(event, { owner, id: newId() })
  }
  return owner
}

/** Opens an account of free calls or an allowance, with so many units granted. */
export async function granted(
  books: Ledger,
  asset: 'FREECALL' | 'ALLOWANCE',
  units: bigint,
): Promise<AccountRef> {
  const kind = asset === 'FREECALL' ? 'free-calls' : 'allowances'
  const code = `liabilities:${kind}:key_${++agents}`
  const owner = await books.open(code, asset, { home: 0 })
  const event = { type: 'units.granted', account: code, asset, units } as const
  if (units > 0n) await books.post(event, { owner, id: newId() })
  return owner
}

export const provider = (books: Ledger, name: string, asset: Asset = 'USDC'): Promise<AccountRef> =>
  books.open(`liabilities:providers:${name}:x`, asset)

/** A reserve with everything that a test does not care about. */
export function order(
  owner: AccountRef,
  payee: AccountRef,
  amount: bigint,
  rest: Partial<ReserveOrder> = {},
): ReserveOrder {
  const terms = { commissionBps: 1_000, ttlSeconds: 60 }
  return { call: newId(), owner, payee, amount, ...terms, ...rest }
}

/** How many of each outcome. */
export function tally(
  results: readonly { outcome: LedgerOutcome }[],
): Partial<Record<LedgerOutcome, number>> {
  const counts: Partial<Record<LedgerOutcome, number>> = {}
  for (const { outcome } of results) counts[outcome] = (counts[outcome] ?? 0) + 1
  return counts
}

/** Books with a bit of everything: purchase, grant, open, settled, released and guarded calls. */
export async function smallBooks(pool: Pool): Promise<{
  books: Ledger
  owner: AccountRef
  payee: AccountRef
}> {
  const books = new Ledger(pool)
  const owner = await agent(books, 1_000_000n)
  const payee = await provider(books, 'acme')
  const allowance = await granted(books, 'ALLOWANCE', 50_000n)
  const free = await granted(books, 'FREECALL', 15n)
  const used = await books.account('equity:free-calls:used')
  const calls = [0, 1, 2, 3].map(() => order(owner, payee, 5_003n))
  const guarded = order(owner, payee, 700n, { guards: [allowance] })
  const freeCall = order(free, used, 1n, { commissionBps: 0 })
  await Promise.all([...calls, guarded, freeCall].map((call) => books.reserve(call)))
  await Promise.all([
    books.settle(calls[0]!, 5_003n),
    books.settle(calls[1]!, 4_999n),
    books.release(calls[2]!),
    books.settle(guarded, 300n),
    books.settle(freeCall, 1n),
  ])
  return { books, owner, payee }
}

const PROPERTY_MS = 60_000

/**
 * On a slow machine a property is held against fewer samples. None is cut off in the middle: its
 * operations would go on beside the next test.
 */
export function inTime<Sample extends unknown[]>(
  hold: (...sample: Sample) => Promise<void>,
): (...sample: Sample) => Promise<void> {
  const until = elapsedMs() + PROPERTY_MS
  return async (...sample) => {
    if (elapsedMs() < until) await hold(...sample)
  }
}
