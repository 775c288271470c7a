import type { Pool } from 'pg'
import { elapsedMs, systemClock } from '../../../core/clock.ts'
import { uuidv7 } from '../../../core/ids.ts'
import type { Asset, LedgerOutcome } from '../../../core/ledger/events.ts'
import { type AccountRef, Ledger, type ReserveOrder } from '../../../core/ledger/ledger.ts'
import type { Micros } from '../../../core/money.ts'

/** Returns a new id of a call or an entry. */
export const newId = (): string => uuidv7(systemClock.now().getTime())

export const micros = (amount: bigint): Micros => amount as Micros

let agents = 0

/** Opens the credits account of a new agent and buys credits. */
export async function openAgent(ledger: Ledger, credits: bigint): Promise<AccountRef> {
  const code = `liabilities:agents:key_${++agents}:credits`
  const owner = await ledger.open(code, 'USDC', { home: 0 })
  if (credits > 0n) {
    const event = { type: 'credits.purchased', credits: code, amount: micros(credits) } as const
    await ledger.post(event, { owner, id: newId() })
  }
  return owner
}

/** Opens an account of free calls or an allowance and grants units. */
export async function openGranted(
  ledger: Ledger,
  asset: 'FREECALL' | 'ALLOWANCE',
  units: bigint,
): Promise<AccountRef> {
  const kind = asset === 'FREECALL' ? 'free-calls' : 'allowances'
  const code = `liabilities:${kind}:key_${++agents}`
  const owner = await ledger.open(code, asset, { home: 0 })
  const event = { type: 'units.granted', account: code, asset, units } as const
  if (units > 0n) await ledger.post(event, { owner, id: newId() })
  return owner
}

export const openProvider = (
  ledger: Ledger,
  name: string,
  asset: Asset = 'USDC',
): Promise<AccountRef> => ledger.open(`liabilities:providers:${name}:x`, asset)

/** Returns a reserve with defaults for the terms that a test does not care about. */
export function order(
  owner: AccountRef,
  payee: AccountRef,
  amount: bigint,
  rest: Partial<ReserveOrder> = {},
): ReserveOrder {
  const terms = { commissionBps: 1_000, ttlSeconds: 60 }
  return { call: newId(), owner, payee, amount, ...terms, ...rest }
}

/** Counts the outcomes. */
export function tally(
  results: readonly { outcome: LedgerOutcome }[],
): Partial<Record<LedgerOutcome, number>> {
  const counts: Partial<Record<LedgerOutcome, number>> = {}
  for (const { outcome } of results) counts[outcome] = (counts[outcome] ?? 0) + 1
  return counts
}

/** Creates a ledger with a purchase, grants, and open, settled, released and guarded calls. */
export async function sampleLedger(pool: Pool): Promise<{
  ledger: Ledger
  owner: AccountRef
  payee: AccountRef
}> {
  const ledger = new Ledger(pool)
  const owner = await openAgent(ledger, 1_000_000n)
  const payee = await openProvider(ledger, 'acme')
  const allowance = await openGranted(ledger, 'ALLOWANCE', 50_000n)
  const free = await openGranted(ledger, 'FREECALL', 15n)
  const used = await ledger.account('equity:free-calls:used')
  const calls = [0, 1, 2, 3].map(() => order(owner, payee, 5_003n))
  const guarded = order(owner, payee, 700n, { guards: [allowance] })
  const freeCall = order(free, used, 1n, { commissionBps: 0 })
  await Promise.all([...calls, guarded, freeCall].map((call) => ledger.reserve(call)))
  await Promise.all([
    ledger.settle(calls[0]!, 5_003n),
    ledger.settle(calls[1]!, 4_999n),
    ledger.release(calls[2]!),
    ledger.settle(guarded, 300n),
    ledger.settle(freeCall, 1n),
  ])
  return { ledger, owner, payee }
}

const PROPERTY_MS = 60_000

/**
 * Checks a property against fewer samples on a slow machine. No sample is interrupted: its
 * operations would continue during the next test.
 */
export function untilDeadline<Sample extends unknown[]>(
  hold: (...sample: Sample) => Promise<void>,
): (...sample: Sample) => Promise<void> {
  const until = elapsedMs() + PROPERTY_MS
  return async (...sample) => {
    if (elapsedMs() < until) await hold(...sample)
  }
}
