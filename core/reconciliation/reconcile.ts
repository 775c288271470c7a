import type { ClientBase, Pool } from 'pg'
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
import { type BlockRange, lockReconciliation, newestRun, planRange } from './range.ts'
import type { Pending, WalletName } from './types.ts'
import { syncWalletEntries } from './wallet-entries.ts'

export interface ReconcileDeps {
  readonly pool: Pool
  readonly chain: Chain
  /** Blocks on top of a transfer before it counts as final, itself included: as for payments. */
  readonly finality: bigint
  readonly wallets: Readonly<Record<WalletName, Hex>>
}

export interface ReconcileOptions {
  /**
   * Where the books of a wallet begin that has no opening balance: after this block. Needed on a
   * long chain for the first run; ignored by later ones. @defaultValue -1, the whole chain
   */
  readonly begin?: bigint
  /** Reads again from this block, where a node is suspected to have left something out. */
  readonly from?: bigint | undefined
  /** By how much the clocks of chain and database may differ. @defaultValue 60 */
  readonly skewSeconds?: number
  /** How long a payment may be at work and explain a transfer. @defaultValue 3600 */
  readonly paymentTimeoutSeconds?: number
  /** How many blocks a piece has, which is kept as a whole or not at all. @defaultValue 10000 */
  readonly pieceBlocks?: bigint
  /** How many pieces to go through at most; the next run continues there. @defaultValue 100 */
  readonly piecesMax?: number
}

/** How a wallet stands. */
export interface ReconciliationResult {
  readonly wallet: WalletName
  readonly address: Hex
  /** The last piece that was read. */
  readonly fromBlock: bigint
  readonly toBlock: bigint
  /** False: the run did not reach the newest final block, and judged nothing yet. */
  readonly complete: boolean
  /** Microdollars on the chain after `toBlock`; undefined where it is not complete. */
  readonly chain: bigint | undefined
  /** Microdollars by the books, in transit included. */
  readonly ledger: bigint
  /** Transfers that this run tied to their entries. */
  readonly matched: number
  /** Work in progress. It and the open exceptions add up to `chain - ledger`. */
  readonly pending: readonly Pending[]
  /** All that are open, of this run and of those before. */
  readonly exceptions: readonly ReconciliationException[]
  readonly opened: number
  readonly closed: number
}

const WALLETS: readonly WalletName[] = ['treasury', 'spend']
const TRIES_MAX = 5
const MS_PER_SECOND = 1_000

/**
 * Holds the books of our USDC against the transfers of our wallets, from where the last run ended
 * to the newest final block. Every difference is an exception or work in progress; none is
 * absorbed. Gas (ETH) is not looked at. Safe to interrupt, to repeat and to run several times at
 * once.
 * @throws ChainUnavailable when the node does not answer, or is behind the last run
 */
export async function reconcile(
  ports: ReconcileDeps,
  options: ReconcileOptions = {},
): Promise<readonly ReconciliationResult[]> {
  const { piecesMax = 100 } = options
  const results: ReconciliationResult[] = []
  for (const wallet of WALLETS) {
    let result = await reconcilePiece(ports, wallet, options)
    for (let pieces = 1; !result.complete && pieces < piecesMax; pieces++) {
      result = await reconcilePiece(ports, wallet, { ...options, from: undefined })
    }
    results.push(result)
  }
  return results
}

/** Reads the chain first, so that the database waits for nobody; then keeps all or nothing. */
async function reconcilePiece(
  ports: ReconcileDeps,
  wallet: WalletName,
  options: ReconcileOptions,
): Promise<ReconciliationResult> {
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const range = await planRange(ports, wallet, options)
    const sight = await readChain(ports, range)
    const result = await inTransaction(ports.pool, async (client) => {
      await lockReconciliation(client)
      const newest = await newestRun(client, range)
      if (newest?.id !== range.newest?.id) return undefined // somebody else was quicker
      return recordRun(client, range, sight, options)
    })
    if (result) return result
  }
  throw new Error(`others reconciled ${wallet} each time at once`)
}

/** What the chain says of a range. */
interface ChainState {
  readonly end: BlockRef
  readonly transfers: ChainReading['transfers']
  /** Only where the range ends at the newest final block. */
  readonly balance: bigint | undefined
}

/** @throws ChainUnavailable also when the chain is reorganised meanwhile */
async function readChain({ chain }: ReconcileDeps, range: BlockRange): Promise<ChainState> {
  const { address: owner, from, to, isComplete: complete } = range
  const end = await blockAt(chain, to)
  const transfers = await chain.transfers({ owner, fromBlock: from, toBlock: to })
  const balance = complete ? await chain.balanceAt(owner, to) : undefined
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
  { skewSeconds = 60, paymentTimeoutSeconds: patienceSeconds = 3_600 }: ReconcileOptions,
): Promise<ReconciliationResult> {
  const { wallet, address, from, to, begin } = range
  const before = (seconds: number): Date => new Date(end.time.getTime() - seconds * MS_PER_SECOND)
  const atWork = await readPendingPayments(client, wallet, before(patienceSeconds))
  await storeTransfers(client, { ...range, transfers }, range.isReorganized)
  const ledger = (await syncWalletEntries(client)).get(wallet)!
  await closeResolved(client, wallet)
  const matched = await matchTransfers(client, wallet)
  let pending: readonly Pending[] = []
  let changed = { opened: 0, closed: 0 }
  if (balance !== undefined) {
    const left = await readUnmatched(client, wallet, atWork)
    const finalSince = before(skewSeconds)
    const found = explainDifference({ ...left, wallet, chain: balance, ledger, begin, finalSince })
    pending = found.pending
    changed = await storeFindings(client, wallet, to, found.findings)
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
  const result = { wallet, address, fromBlock: from, toBlock: to, complete: range.isComplete }
  return { ...result, chain: balance, ledger, matched, pending, exceptions, ...changed }
}
