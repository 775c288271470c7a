import type { Pool } from 'pg'
import type { Log } from '../core/log.ts'
import type { Hex } from '../core/payments/chain/asset.ts'
import type { Chain } from '../core/payments/chain/chain.ts'
import { OutgoingSwitch } from '../core/payments/operations/outgoing-switch.ts'
import type { ReconciliationException } from '../core/reconciliation/exceptions.ts'
import { type ReconciliationResult, reconcile } from '../core/reconciliation/reconcile.ts'

interface ReconcileDeps {
  readonly pool: Pool
  readonly chain: Chain
  readonly finality: bigint
  readonly wallets: { readonly treasury: Hex; readonly spend: Hex }
  readonly log: Log
}

const MS_PER_SECOND = 1_000n
/** Before the first entry: more than any payment takes that it could be about. */
const LOOK_BACK_BLOCKS = 10_000n

/**
 * Reconciles the platform wallets with the ledger and logs new differences. Pauses payments to
 * sellers when money left the spend wallet that the ledger does not explain.
 */
export async function reconcileChain(deps: ReconcileDeps): Promise<void> {
  const begin = await findFirstBlock(deps)
  const results = await reconcile(deps, { begin })
  await pauseWhenDrained(deps, results)
  for (const result of results) logResult(deps.log, result)
}

/** Pauses once per exception: the person who resumes payments has seen the earlier ones. */
async function pauseWhenDrained(
  { pool, log }: ReconcileDeps,
  results: readonly ReconciliationResult[],
): Promise<void> {
  const outgoing = new OutgoingSwitch(pool)
  const since = (await outgoing.state())?.at ?? new Date(0)
  const found = results
    .flatMap(({ exceptions }) => exceptions)
    .filter((exception) => isDrain(exception) && exception.foundAt > since)
  if (found.length === 0) return
  const reason = found.map((each) => `Exception ${each.id}: ${each.reason}`).join(' ')
  await outgoing.set(true, 'reconciliation', reason)
  log.error({ reason }, 'payments to sellers are paused: `npm run payments -- resume`')
}

/** True if money left the spend wallet that neither an entry nor an open payment explains. */
const isDrain = ({ wallet, kind, amount }: ReconciliationException): boolean =>
  wallet === 'spend' && amount < 0n && DRAIN_KINDS.has(kind)

const DRAIN_KINDS: ReadonlySet<string> = new Set([
  'unknown_withdrawal',
  'amount_differs',
  'balance_differs',
])

function logResult(
  log: Log,
  { wallet, opened, exceptions, complete, toBlock }: ReconciliationResult,
): void {
  if (!complete) log.info({ wallet, toBlock }, 'chain reconciliation continues in its next run')
  if (opened === 0) return
  const found = exceptions.slice(-opened).map(({ id, kind, reason }) => `${id} ${kind}: ${reason}`)
  log.error(
    { wallet, exceptions: found },
    'ledger and chain differ: run `npm run ledger -- exceptions`',
  )
}

/**
 * First block of the first run, for a wallet without an opening balance: before the first ledger
 * entry, assuming at most one block per second, so that it need not read a long chain from block 0.
 */
async function findFirstBlock({ pool, chain }: ReconcileDeps): Promise<bigint> {
  const { rows } = await pool.query<{ first: Date | null }>(
    'SELECT min(at) AS first FROM ledger.seal WHERE seq_from = 1',
  )
  const { number, time } = await chain.head()
  const first = rows[0]?.first ?? time
  const seconds = BigInt(Math.max(0, time.getTime() - first.getTime())) / MS_PER_SECOND
  const block = number - seconds - LOOK_BACK_BLOCKS
  return block > 0n ? block : -1n
}
