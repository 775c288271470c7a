import type { Pool } from 'pg'
import { readFirstInstant } from '../core/ledger/shards.ts'
import type { Log } from '../core/log.ts'
import { logFailure } from '../core/outages.ts'
import type { Hex } from '../core/payments/chain/asset.ts'
import type { Chain } from '../core/payments/chain/chain.ts'
import { componentOn, type PaymentNetwork } from '../core/payments/networks.ts'
import { describeDrains } from '../core/reconciliation/pause-if-drained.ts'
import { type ReconciliationResult, reconcile } from '../core/reconciliation/reconcile.ts'
import type { WalletName } from '../core/reconciliation/types.ts'
import { accountsOfNetwork, treasuryOn } from '../core/reconciliation/wallets.ts'

interface ReconcileDeps {
  readonly pool: Pool
  readonly chain: Chain
  readonly finality: bigint
  readonly wallets: Readonly<Partial<Record<WalletName, Hex>>>
  readonly log: Log
}

const MS_PER_SECOND = 1_000n
const PERIOD_SECONDS = 55
/** Time before the first entry that is read too: more than any payment takes. */
const LOOK_BACK_BLOCKS = 10_000n

/**
 * Reconciles once a minute; at once while outgoing payments are off because the database was
 * restarted or restored.
 */
export async function reconcileWhenDue(deps: ReconcileDeps): Promise<void> {
  const { rows } = await deps.pool.query<{ due: boolean }>(
    `SELECT NOT hub.is_outgoing_confirmed() OR NOT EXISTS (SELECT FROM hub.reconciliation
       WHERE wallet = 'spend' AND at > clock_timestamp() - make_interval(secs => $1)) AS due`,
    [PERIOD_SECONDS],
  )
  if (rows[0]!.due) await reconcileChain(deps)
}

/** Reconciles the platform wallets with the ledger and logs new differences. */
export async function reconcileChain(deps: ReconcileDeps): Promise<void> {
  const begin = await findFirstBlock(deps)
  const results = await reconcile(deps, { begin })
  for (const result of results) logResult(deps.log, result)
}

/**
 * Reconciles the treasury of each further network with its own chain. A network whose node does not
 * respond delays no other one.
 */
export async function reconcileNetworks({
  pool,
  log,
  networks = [],
}: Pick<ReconcileDeps, 'pool' | 'log'> & {
  readonly networks?: readonly PaymentNetwork[]
}): Promise<void> {
  await Promise.all(
    networks.map(async ({ asset, chain, finality, treasury }) => {
      const wallets = { [treasuryOn(asset.v1Network)]: treasury }
      await reconcileChain({ pool, log, chain, finality, wallets }).catch((err: unknown) => {
        const component = componentOn('blockchain node', asset.network)
        logFailure(log, 'warn', { err, component }, 'a network could not be reconciled yet')
      })
    }),
  )
}

function logResult(
  log: Log,
  { wallet, opened, exceptions, drains, complete, toBlock }: ReconciliationResult,
): void {
  if (drains.length > 0) {
    const reason = describeDrains(drains)
    log.error({ reason }, 'payments to sellers are paused: `npm run payments -- resume`')
  }
  if (!complete) log.info({ wallet, toBlock }, 'chain reconciliation continues in its next run')
  if (opened === 0) return
  const found = exceptions.slice(-opened).map(({ id, kind, reason }) => `${id} ${kind}: ${reason}`)
  log.error(
    { wallet, exceptions: found },
    'ledger and chain differ: run `npm run ledger -- exceptions`',
  )
}

/**
 * First block of the first run, for wallets without an opening balance: before the first ledger
 * entry, and before their network was configured, which opens its accounts. Assumes at most one
 * block per second, so that it need not read a long chain from block 0.
 */
async function findFirstBlock({ pool, chain, wallets }: ReconcileDeps): Promise<bigint> {
  const [wallet = 'treasury'] = Object.keys(wallets) as WalletName[]
  const { rows } = await pool.query<{ first: Date | null }>(
    'SELECT greatest($2, min(opened_at)) AS first FROM ledger.account WHERE code LIKE $1',
    [accountsOfNetwork(wallet), (await readFirstInstant(pool)) ?? null],
  )
  const { number, time } = await chain.head()
  const first = rows[0]?.first ?? time
  const seconds = BigInt(Math.max(0, time.getTime() - first.getTime())) / MS_PER_SECOND
  const block = number - seconds - LOOK_BACK_BLOCKS
  return block > 0n ? block : -1n
}
