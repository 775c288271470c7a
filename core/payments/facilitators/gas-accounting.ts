import type { ClientBase, Pool, PoolClient } from 'pg'
import { inTransaction } from '../../db/transaction.ts'
import { Fault } from '../../errors.ts'
import { derivedUuid } from '../../ids.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import { GAS } from '../../ledger/postings.ts'
import { decimal, type Micros } from '../../money.ts'
import type { Hex } from '../chain/asset.ts'
import { postEntry } from '../post-entry.ts'
import { type Fee, type GasWallet, WEI_PER_ETH, WEI_PER_GWEI } from './gas-wallet.ts'

export interface GasAccountingDeps {
  readonly pool: Pool
  readonly ledger: Ledger
  readonly wallet: GasWallet
  /** Confirmations after which a fee is posted. */
  readonly finality: bigint
  /** Microdollars per ETH. */
  readonly ethPrice: Micros
}

/** Value date of opening entries. Precedes every other entry of its month. */
const OPENING_DATE = new Date('2026-11-01T00:00:00Z')
const BATCH_SIZE = 50

/**
 * Posts the gas fee of every final transaction once: its cost is stored before it is posted, and
 * its row is deleted afterwards. The first run posts the earlier balance of the wallet as opening.
 *
 * The ledger counts whole gwei and always equals the chain rounded down, because fractions of a
 * gwei are carried to the next transaction. The value in USDC is rounded down each time. Its price
 * is the one of when the fee was recorded, even if it is posted after the setting was changed.
 * @returns the number of transactions posted
 */
export async function postGasFees(deps: GasAccountingDeps): Promise<number> {
  const { pool, wallet } = deps
  const block = (await wallet.head()) - deps.finality + 1n
  if (block < 0n) return 0
  await ensureOpening(deps, block)
  for (const hashes of inBatches(await transactionsWithoutFee(pool, wallet))) {
    await recordFees(deps, await fetchFees(wallet, hashes, block))
  }
  await deleteReplaced(pool, wallet, await wallet.countAt(block))
  return postFees(deps)
}

/** Deducts a fee in whole gwei from a wallet with `rest` wei beyond whole gwei. */
export function deductWholeGwei(wei: bigint, rest: bigint): { gwei: bigint; rest: bigint } {
  const gwei = wei <= rest ? 0n : (wei - rest + WEI_PER_GWEI - 1n) / WEI_PER_GWEI
  return { gwei, rest: rest - wei + gwei * WEI_PER_GWEI }
}

/** Converts ETH received to whole gwei, carrying the rest. @throws Fault `not_booked` */
export async function addWholeGwei(
  client: ClientBase,
  wallet: GasWallet,
  wei: bigint,
  block: bigint,
): Promise<bigint> {
  const key = walletKey(wallet)
  const { rows } = await client.query<Opening & { readonly rest: bigint }>(
    `SELECT opening, opened_at, booked, rest FROM hub.gas_wallet
     WHERE chain_id = $1 AND address = $2 FOR UPDATE`,
    key,
  )
  const [opening] = rows
  if (!opening?.booked || block <= opening.opened_at) {
    const detail = opening?.booked
      ? `The opening balance of the gas wallet (block ${opening.opened_at}) already includes it.`
      : 'The gas wallet has no opening balance yet, which will include it.'
    throw new Fault('not_booked', detail)
  }
  const whole = (opening.rest + wei) / WEI_PER_GWEI
  if (whole === 0n) throw new Fault('not_booked', 'The amount is less than one gwei.')
  await client.query('UPDATE hub.gas_wallet SET rest = $3 WHERE chain_id = $1 AND address = $2', [
    ...key,
    opening.rest + wei - whole * WEI_PER_GWEI,
  ])
  return whole
}

/** Posts the opening: the balance on chain plus the fees of all stored transactions. */
async function ensureOpening(deps: GasAccountingDeps, block: bigint): Promise<void> {
  const { pool, ledger, wallet } = deps
  const key = walletKey(wallet)
  const known = await pool.query<Opening>(OPENING_SQL, key)
  if (known.rows[0]?.booked) return
  if (!known.rows[0]) {
    const balance = await wallet.balanceAt(block)
    let wei = balance
    for (const hashes of inBatches(await transactionsWithoutFee(pool, wallet))) {
      for (const fee of await fetchFees(wallet, hashes, block)) wei += fee.wei
    }
    await pool.query(
      `INSERT INTO hub.gas_wallet (chain_id, address, opening, rest, opened_at)
       VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING`,
      [...key, wei / WEI_PER_GWEI, wei % WEI_PER_GWEI, block],
    )
  }
  const { rows } = await pool.query<Opening>(OPENING_SQL, key)
  const { opening, opened_at: openedAt } = rows[0]!
  if (opening > 0n) {
    const event = { type: 'balance.opened', account: GAS, amount: opening, asset: 'GWEI' } as const
    const id = derivedUuid(OPENING_DATE, wallet.address.toLowerCase())
    const entry = { owner: await ledger.account(GAS), id, meta: { block: String(openedAt) } }
    await postEntry(ledger, event, entry)
  }
  await pool.query(
    'UPDATE hub.gas_wallet SET booked = true WHERE chain_id = $1 AND address = $2',
    key,
  )
}

interface Opening {
  readonly opening: bigint
  readonly opened_at: bigint
  readonly booked: boolean
}

const OPENING_SQL = `SELECT opening, opened_at, booked FROM hub.gas_wallet
  WHERE chain_id = $1 AND address = $2`

const walletKey = ({ chainId, address }: GasWallet): [number, string] => [
  chainId,
  address.toLowerCase(),
]

/** Lists transactions whose fee is not known yet, in order of their nonce. */
async function transactionsWithoutFee(pool: Pool, wallet: GasWallet): Promise<readonly Hex[]> {
  const { rows } = await pool.query<{ hash: Hex }>(
    `SELECT hash FROM hub.sent_transaction
     WHERE chain_id = $1 AND sender = $2 AND gwei IS NULL ORDER BY nonce, kept_at`,
    walletKey(wallet),
  )
  return rows.map(({ hash }) => hash)
}

/** Splits hashes into the number that one round of node requests covers. */
const inBatches = (hashes: readonly Hex[]): readonly (readonly Hex[])[] =>
  hashes.flatMap((_, i) => (i % BATCH_SIZE === 0 ? [hashes.slice(i, i + BATCH_SIZE)] : []))

/** Fetches the fees of those transactions that are in a block up to `upTo`. */
async function fetchFees(wallet: GasWallet, hashes: readonly Hex[], upTo: bigint) {
  const fees = await Promise.all(
    hashes.map(async (hash) => {
      const fee = await wallet.fee(hash)
      return fee && fee.block <= upTo ? [{ ...fee, hash }] : []
    }),
  )
  return fees.flat()
}

/** Stores the fees of transactions once; any process may post them later. */
const recordFees = (
  { pool, wallet, ethPrice }: GasAccountingDeps,
  fees: readonly (Fee & { readonly hash: Hex })[],
) =>
  inTransaction(pool, async (client: PoolClient) => {
    const key = walletKey(wallet)
    const { rows } = await client.query<{ rest: bigint }>(
      'SELECT rest FROM hub.gas_wallet WHERE chain_id = $1 AND address = $2 FOR UPDATE',
      key,
    )
    let rest = rows[0]!.rest
    for (const { hash, wei, time } of fees) {
      const whole = deductWholeGwei(wei, rest)
      const { rowCount } = await client.query(
        `UPDATE hub.sent_transaction SET mined_at = $2, wei = $3, gwei = $4, worth = $5,
           eth_price = $6
         WHERE hash = $1 AND gwei IS NULL`,
        [hash, time, wei, whole.gwei, (wei * ethPrice) / WEI_PER_ETH, ethPrice],
      )
      await client.query('DELETE FROM hub.sent_payment WHERE hash = $1', [hash])
      if (rowCount === 1) ({ rest } = whole)
    }
    await client.query('UPDATE hub.gas_wallet SET rest = $3 WHERE chain_id = $1 AND address = $2', [
      ...key,
      rest,
    ])
  })

/** Deletes transactions that were replaced by another one with their nonce: they cost nothing. */
const deleteReplaced = (pool: Pool, wallet: GasWallet, count: number): Promise<unknown> =>
  pool.query(
    `DELETE FROM hub.sent_transaction WHERE chain_id = $1 AND sender = $2 AND nonce < $3
       AND gwei IS NULL AND kept_at < now() - interval '1 hour'`,
    [...walletKey(wallet), count],
  )

interface RecordedFee {
  readonly hash: Hex
  readonly mined_at: Date
  readonly wei: bigint
  readonly gwei: bigint
  readonly worth: bigint
  /** Price at which `worth` was computed. */
  readonly price: bigint
}

async function postFees({ pool, ledger, wallet, ethPrice }: GasAccountingDeps): Promise<number> {
  const { rows } = await pool.query<RecordedFee>(
    `SELECT hash, mined_at, wei, gwei, worth, coalesce(eth_price, $3) AS price
     FROM hub.sent_transaction
     WHERE chain_id = $1 AND sender = $2 AND gwei IS NOT NULL ORDER BY nonce`,
    [...walletKey(wallet), ethPrice],
  )
  const owner = await ledger.account(GAS)
  for (const { hash, mined_at: effectiveAt, wei, gwei, worth, price } of rows) {
    if (gwei > 0n || worth > 0n) {
      const id = derivedUuid(effectiveAt, hash)
      const event = { type: 'gas.paid', gwei, cost: worth as Micros } as const
      await postEntry(ledger, event, {
        owner,
        id,
        effectiveAt,
        meta: {
          tx: hash,
          wei: `${wei}`,
          price: decimal(price),
          price_source: 'HUB_ETH_PRICE',
        },
      })
    }
    await pool.query('DELETE FROM hub.sent_transaction WHERE hash = $1', [hash])
  }
  return rows.length
}
