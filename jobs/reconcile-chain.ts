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
 * Holds the wallets of the house against the books, and tells of what disagrees anew. When money
 * has left the spend wallet that the books cannot account for, sellers are paid no more.
 */
export async function reconcileChain(ports: ReconcileDeps): Promise<void> {
  const begin = await findFirstBlock(ports)
  const results = await reconcile(ports, { begin })
  await pauseWhenDrained(ports, results)
  for (const result of results) logResult(ports.log, result)
}

/** Pauses once for each exception: a person who lets payments go on has seen those before. */
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

/** Money of the spend wallet is gone, and neither an entry nor an open payment says where. */
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
  if (!complete) log.info({ wallet, toBlock }, 'the reconciliation goes on in its next run')
  if (opened === 0) return
  const told = exceptions.slice(-opened).map(({ id, kind, reason }) => `${id} ${kind}: ${reason}`)
  log.error(
    { wallet, exceptions: told },
    'books and chain disagree: `npm run ledger -- exceptions`',
  )
}

/**
 * Where the first run begins for a wallet without an opening balance: before the first entry of the
 * books, taking a block a second as the quickest pace. The whole of a long chain is nobody's
 * business.
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
