import type { ClientBase, Pool } from 'pg'
import type { Hex } from '../payments/chain/asset.ts'
import { type Chain, ChainUnavailable } from '../payments/chain/chain.ts'
import type { WalletName } from './types.ts'
import { accountOfWallet, accountsOfNetwork } from './wallets.ts'

interface Run {
  readonly id: bigint
  readonly fromBlock: bigint
  readonly toBlock: bigint
  readonly hash: Hex
}

/** Blocks to read next for a wallet. */
export interface BlockRange {
  readonly wallet: WalletName
  readonly address: Hex
  /** The ledger of the wallet begins after this block. */
  readonly begin: bigint
  readonly from: bigint
  readonly to: bigint
  /** True if `to` is the newest final block. */
  readonly isComplete: boolean
  /** True if blocks read before are no longer on the chain. */
  readonly isReorganized: boolean
  readonly newest: Run | undefined
  /** Newest block of the chain, and start of the database server, before anything was read. */
  readonly head: bigint
  readonly serverStart: string
}

export interface ReconcileDeps {
  readonly pool: Pool
  readonly chain: Chain
  /** Confirmations, the block of a transfer included, until it is final: as for payments. */
  readonly finality: bigint
  /** Wallets on this chain. */
  readonly wallets: Readonly<Partial<Record<WalletName, Hex>>>
}

interface RangeOptions {
  readonly begin?: bigint
  readonly from?: bigint | undefined
  readonly pieceBlocks?: bigint
}

const LOCK_ID = 8_402_011
const PIECE_BLOCKS = 10_000n

/** Serializes reconciling and resolving; released at the end of the transaction. */
export const lockReconciliation = (client: ClientBase): Promise<unknown> =>
  client.query('SELECT pg_advisory_xact_lock($1)', [LOCK_ID])

/**
 * Plans the next range: it starts after the newest run that is still on the chain, minus `finality`
 * blocks that are read again, and ends at the newest final block or after `pieceBlocks`.
 * @throws ChainUnavailable if the node is behind the newest run
 */
export async function planRange(
  { pool, chain, finality, wallets }: ReconcileDeps,
  wallet: WalletName,
  options: RangeOptions,
): Promise<BlockRange> {
  const place = { wallet, address: wallets[wallet]!.toLowerCase() as Hex }
  const serverStart = await readServerStart(pool)
  const newest = await newestRun(pool, place)
  const { number: head } = await chain.head()
  const final = head - finality + 1n
  if (final < (newest?.toBlock ?? 0n)) {
    const known = newest ? `, and block ${newest.toBlock} was read before` : ''
    throw new ChainUnavailable(`The newest final block is ${final}${known}.`)
  }
  const standing = await newestValidRun(pool, chain, place)
  const begin = await findBeginBlock(pool, place, options.begin ?? -1n)
  const next = (standing?.toBlock ?? begin) + 1n
  const rereadFrom = options.from ?? next - finality
  const first = rereadFrom > begin ? rereadFrom : begin + 1n
  const from = first < next ? first : next
  const last = from + (options.pieceBlocks ?? PIECE_BLOCKS) - 1n
  const to = last < final ? last : final
  if (to < from - 1n) throw new ChainUnavailable(`The ledger begins after block ${begin}.`)
  const isReorganized = newest !== undefined && newest.id !== standing?.id
  const read = { newest, head, serverStart }
  return { ...place, ...read, begin, from, to, isComplete: to === final, isReorganized }
}

/** Reads the start as text, because a Date has no microseconds. */
async function readServerStart(pool: Pool): Promise<string> {
  const { rows } = await pool.query<{ at: string }>('SELECT pg_postmaster_start_time()::text AS at')
  return rows[0]!.at
}

interface RunKey {
  readonly wallet: WalletName
  readonly address: Hex
}

const RUNS = `
  SELECT id, from_block AS "fromBlock", to_block AS "toBlock", block_hash AS hash
  FROM hub.reconciliation WHERE wallet = $1 AND address = $2`

export async function newestRun(
  client: Pool | ClientBase,
  { wallet, address }: RunKey,
): Promise<Run | undefined> {
  const { rows } = await client.query<Run>(`${RUNS} ORDER BY id DESC LIMIT 1`, [wallet, address])
  return rows[0]
}

/** Finds the newest run whose last block, and thus its whole range, is still on the chain. */
async function newestValidRun(pool: Pool, chain: Chain, place: RunKey): Promise<Run | undefined> {
  let run = await newestRun(pool, place)
  while (run && (await chain.block(run.toBlock))?.hash !== run.hash) {
    const { rows } = await pool.query<Run>(
      `${RUNS} AND id < $3 AND to_block < $4 ORDER BY id DESC LIMIT 1`,
      [place.wallet, place.address, run.id, run.toBlock],
    )
    run = rows[0]
  }
  return run
}

/**
 * Returns the block after which the ledger of a wallet begins: where its first run started; before
 * the first run, the block of its opening balance (`meta.block`), or of another wallet's on its
 * network.
 */
export async function findBeginBlock(pool: Pool, place: RunKey, fallback: bigint): Promise<bigint> {
  const first = await pool.query<Run>(`${RUNS} ORDER BY id LIMIT 1`, [place.wallet, place.address])
  if (first.rows[0]) return first.rows[0].fromBlock - 1n
  const { rows } = await pool.query<{ block: bigint | null }>(
    `SELECT coalesce(max(o.block) FILTER (WHERE o.code = $1),
      min(o.block)) AS block
     FROM (SELECT a.code, substring(j.meta ->> 'block' FROM '^[0-9]{1,18}$')::bigint AS block
       FROM ledger.journal j JOIN ledger.kind k ON k.id = j.kind
       JOIN ledger.account a ON a.id = ANY (j.accounts)
       WHERE k.event = 'balance.opened' AND a.code LIKE $2) o`,
    [accountOfWallet(place.wallet), accountsOfNetwork(place.wallet)],
  )
  return rows[0]?.block ?? fallback
}
