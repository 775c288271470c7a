import type { ClientBase } from 'pg'
import { inTransaction } from '../db/transaction.ts'
import type { Hex } from '../payments/chain/asset.ts'
import { type BlockRef, type Chain, ChainUnavailable } from '../payments/chain/chain.ts'
import { explainDifference } from './differences.ts'
import {
  closeResolved,
  listExceptions,
  type ReconciliationException,
  storeFindings,
} from './exceptions.ts'
import {
  type ChainReading,
  matchTransfers,
  readPendingPayments,
  readUnmatched,
  storeTransfers,
} from './match.ts'
import { pauseIfDrained } from './pause-if-drained.ts'
import {
  type BlockRange,
  lockReconciliation,
  newestRun,
  planRange,
  type ReconcileDeps,
} from './range.ts'
import type { Pending, WalletName } from './types.ts'
import { syncEntries } from './wallet-entries.ts'

/** Time for which a pending payment explains a transfer. */
const PAYMENT_SECONDS = 3_600

export interface ReconcileOptions {
  /**
   * Block after which the ledger of a wallet without an opening balance begins. Needed on a long
   * chain for the first run; ignored later. @defaultValue -1, the whole chain
   */
  readonly begin?: bigint
  /** Reads again from this block, if a node may have omitted transfers. */
  readonly from?: bigint | undefined
  /** Maximum difference between the clocks of chain and database. @defaultValue 60 */
  readonly skewSeconds?: number
  /** Blocks per piece, which is stored as a whole or not at all. @defaultValue 10000 */
  readonly pieceBlocks?: bigint
  /** Pieces per run, at most; the next run continues there. @defaultValue 100 */
  readonly piecesMax?: number
}

export interface ReconciliationResult {
  readonly wallet: WalletName
  readonly address: Hex
  readonly fromBlock: bigint
  readonly toBlock: bigint
  /** False if the run did not reach the newest final block; nothing was compared yet. */
  readonly complete: boolean
  /** Balance on chain after `toBlock`, in microdollars; undefined unless complete. */
  readonly chain: bigint | undefined
  /** Balance in the ledger, in microdollars, including funds in transit. */
  readonly ledger: bigint
  /** Transfers matched with their entries by this run. */
  readonly matched: number
  /** Pending items; together with the open exceptions they add up to `chain - ledger`. */
  readonly pending: readonly Pending[]
  /** All open exceptions, of this run and earlier ones. */
  readonly exceptions: readonly ReconciliationException[]
  readonly opened: number
  readonly closed: number
  /** Exceptions because of which this run has paused outgoing payments. */
  readonly drains: readonly ReconciliationException[]
}

const TRIES_MAX = 5
const MS_PER_SECOND = 1_000

/**
 * Reconciles the ledger's USDC with the transfers of the platform wallets on one chain, from the
 * end of the last run to the newest final block. Every difference is an exception or a pending
 * item; none is absorbed. The transaction that finds money missing in the spend wallet pauses
 * outgoing payments; they stay off in a restored database until a run has passed. Gas (ETH) is not
 * covered. Safe to interrupt, to repeat and to run concurrently.
 * @throws ChainUnavailable if the node does not respond, or is behind the last run
 */
export async function reconcile(
  deps: ReconcileDeps,
  options: ReconcileOptions = {},
): Promise<readonly ReconciliationResult[]> {
  const { piecesMax = 100 } = options
  const results: ReconciliationResult[] = []
  for (const wallet of Object.keys(deps.wallets) as WalletName[]) {
    let result = await reconcilePiece(deps, wallet, options)
    for (let pieces = 1; !result.complete && pieces < piecesMax; pieces++) {
      result = await reconcilePiece(deps, wallet, { ...options, from: undefined })
    }
    results.push(result)
  }
  return results
}

/** Reads the chain before the transaction, which is thus short; stores all or nothing. */
async function reconcilePiece(
  deps: ReconcileDeps,
  wallet: WalletName,
  options: ReconcileOptions,
): Promise<ReconciliationResult> {
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const range = await planRange(deps, wallet, options)
    const chainState = await readChain(deps, range)
    const result = await inTransaction(deps.pool, async (client) => {
      await lockReconciliation(client)
      const newest = await newestRun(client, range)
      if (newest?.id !== range.newest?.id) return undefined // another run finished first
      return recordRun(client, range, chainState, options)
    })
    if (result) return result
  }
  throw new Error(`concurrent runs reconciled ${wallet} ${TRIES_MAX} times in a row`)
}

interface ChainState {
  readonly end: BlockRef
  readonly transfers: ChainReading['transfers']
  /** Undefined unless the range ends at the newest final block. */
  readonly balance: bigint | undefined
}

/** @throws ChainUnavailable also if the chain is reorganized meanwhile */
async function readChain({ chain }: ReconcileDeps, range: BlockRange): Promise<ChainState> {
  const { address: owner, from, to, isComplete } = range
  const end = await blockAt(chain, to)
  const transfers = await chain.transfers({ owner, fromBlock: from, toBlock: to })
  const balance = isComplete ? await chain.balanceAt(owner, to) : undefined
  const again = await blockAt(chain, to)
  if (again.hash !== end.hash) {
    throw new ChainUnavailable(`Block ${to} was replaced while the chain was read.`)
  }
  return { end, transfers, balance }
}

async function blockAt(chain: Chain, number: bigint): Promise<BlockRef> {
  const block = await chain.block(number)
  if (!block) throw new ChainUnavailable(`The node has no block ${number}.`)
  return block
}

async function recordRun(
  client: ClientBase,
  range: BlockRange,
  { end, transfers, balance }: ChainState,
  { skewSeconds = 60 }: ReconcileOptions,
): Promise<ReconciliationResult> {
  const { wallet, address, from, to, begin } = range
  const before = (seconds: number): Date => new Date(end.time.getTime() - seconds * MS_PER_SECOND)
  const payments = await readPendingPayments(client, wallet, before(PAYMENT_SECONDS))
  await storeTransfers(client, { ...range, transfers }, range.isReorganized)
  const ledger = (await syncEntries(client)).get(wallet) ?? 0n
  await closeResolved(client, wallet)
  const matched = await matchTransfers(client, wallet)
  let pending: readonly Pending[] = []
  let changed = { opened: 0, closed: 0 }
  if (balance !== undefined) {
    const unmatched = await readUnmatched(client, wallet, payments)
    const state = { ...unmatched, wallet, chain: balance, ledger, begin }
    const items = explainDifference({ ...state, finalSince: before(skewSeconds) })
    pending = items.pending
    changed = await storeFindings(client, wallet, to, items.findings)
  }
  const exceptions = await listExceptions(client, { wallet })
  await client.query(
    `INSERT INTO hub.reconciliation (wallet, address, from_block, to_block, block_hash, block_time,
       chain_balance, ledger_balance, transfers, matched, pending, exceptions)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
    [
      wallet,
      address,
      from,
      to,
      end.hash,
      end.time,
      balance ?? null,
      ledger,
      transfers.length,
      matched,
      pending.length,
      exceptions.length,
    ],
  )
  const isSpend = wallet === 'spend' && balance !== undefined
  const drains = isSpend ? await pauseIfDrained(client, exceptions) : []
  if (isSpend) await confirmOutgoing(client, range)
  const result = { wallet, address, fromBlock: from, toBlock: to, complete: range.isComplete }
  return { ...result, chain: balance, ledger, matched, pending, exceptions, drains, ...changed }
}

/** Allows outgoing payments in a database that was restarted or restored. */
const confirmOutgoing = (client: ClientBase, { serverStart, head, to }: BlockRange) =>
  client.query('SELECT hub.confirm_outgoing($1, $2, $3)', [serverStart, head, to])
