import type { Pool } from 'pg'
import { type Reconciliation, reconcile } from '../core/ledger/reconcile/reconcile.ts'
import type { Log } from '../core/log.ts'
import type { Hex } from '../core/payments/asset.ts'
import type { Chain } from '../core/payments/chain.ts'

interface Ports {
  readonly pool: Pool
  readonly chain: Chain
  readonly finality: bigint
  readonly wallets: { readonly treasury: Hex; readonly spend: Hex }
  readonly log: Log
}

const MS_PER_SECOND = 1_000n
/** Before the first entry: more than any payment takes that it could be about. */
const LOOK_BACK_BLOCKS = 10_000n

/** Holds the wallets of the house against the books, and tells of what disagrees anew. */
export async function reconcileChain(ports: Ports): Promise<void> {
  const begin = await beginning(ports)
  for (const result of await reconcile(ports, { begin })) tell(ports.log, result)
}

function tell(log: Log, { wallet, opened, exceptions, complete, toBlock }: Reconciliation): void {
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
async function beginning({ pool, chain }: Ports): Promise<bigint> {
  const { rows } = await pool.query<{ first: Date | null }>(
    'SELECT min(at) AS first FROM ledger.seal WHERE seq_from = 1',
  )
  const { number, time } = await chain.head()
  const first = rows[0]?.first ?? time
  const seconds = BigInt(Math.max(0, time.getTime() - first.getTime())) / MS_PER_SECOND
  const block = number - seconds - LOOK_BACK_BLOCKS
  return block > 0n ? block : -1n
}
