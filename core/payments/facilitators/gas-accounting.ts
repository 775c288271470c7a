import type { ClientBase, Pool, PoolClient } from 'pg'
import { inTransaction } from '../../db/transaction.ts'
import { Fault } from '../../errors.ts'
import { derivedUuid } from '../../ids.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import { GAS } from '../../ledger/postings.ts'
import type { Micros } from '../../money.ts'
import type { Hex } from '../chain/asset.ts'
import { postOrThrow } from '../post-entry.ts'
import { type Fee, type GasWallet, WEI_PER_GWEI } from './gas-wallet.ts'

export interface GasAccountingDeps {
  readonly pool: Pool
  readonly ledger: Ledger
  readonly wallet: GasWallet
  /** Blocks on top of a transaction before its fee counts. */
  readonly finality: bigint
  /** Microdollars for one ETH. */
  readonly ethPrice: Micros
}

const WEI_PER_ETH = 10n ** 18n
/** Before every other entry; only the order within its month matters. */
const OPENING_DATE = new Date('2026-11-01T00:00:00Z')
const BATCH_SIZE = 50

/**
 * Books the gas of every transaction whose block is final, each once: what it cost is written down
 * before it is booked, and its row goes away afterwards. The first time, what the wallet held
 * before all of them is booked as its opening.
 *
 * The books count whole gwei and always hold what the chain does, rounded down: a fraction of a
 * gwei is carried from one transaction to the next. Its worth is rounded down each time.
 * @returns how many transactions were booked
 */
export async function postGasFees(ports: GasAccountingDeps): Promise<number> {
  const { pool, wallet } = ports
  const block = (await wallet.head()) - ports.finality + 1n
  if (block < 0n) return 0
  await ensureOpening(ports, block)
  for (const hashes of inBatches(await transactionsWithoutFee(pool, wallet))) {
    await recordFees(ports, await fetchFees(wallet, hashes, block))
  }
  await deleteReplaced(pool, wallet, await wallet.countAt(block))
  return postFees(ports)
}

/** What a fee takes from a wallet in whole gwei, if it held `rest` wei beyond whole ones. */
export function deductWholeGwei(wei: bigint, rest: bigint): { gwei: bigint; rest: bigint } {
  const gwei = wei <= rest ? 0n : (wei - rest + WEI_PER_GWEI - 1n) / WEI_PER_GWEI
  return { gwei, rest: rest - wei + gwei * WEI_PER_GWEI }
}

/**
 * What ETH that comes to a wallet is in whole gwei; what is left over is carried on.
 * @throws Fault `not_booked` where the books of the wallet do not begin before it
 */
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
  const [books] = rows
  if (!books?.booked || block <= books.opened_at) {
    const detail = books?.booked
      ? `The opening of the gas wallet, of block ${books.opened_at}, has it already.`
      : 'The gas wallet has no opening balance yet, which will have it.'
    throw new Fault('not_booked', detail)
  }
  const whole = (books.rest + wei) / WEI_PER_GWEI
  if (whole === 0n) throw new Fault('not_booked', 'It is less than a gwei.')
  await client.query('UPDATE hub.gas_wallet SET rest = $3 WHERE chain_id = $1 AND address = $2', [
    ...key,
    books.rest + wei - whole * WEI_PER_GWEI,
  ])
  return whole
}

/** Before the first transaction that was kept, it held what it holds, and the fees since. */
async function ensureOpening(ports: GasAccountingDeps, block: bigint): Promise<void> {
  const { pool, ledger, wallet } = ports
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
    await postOrThrow(ledger, event, entry)
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

/** Transactions whose fee is not known yet, in order. */
async function transactionsWithoutFee(pool: Pool, wallet: GasWallet): Promise<readonly Hex[]> {
  const { rows } = await pool.query<{ hash: Hex }>(
    `SELECT hash FROM hub.sent_transaction
     WHERE chain_id = $1 AND sender = $2 AND gwei IS NULL ORDER BY nonce, kept_at`,
    walletKey(wallet),
  )
  return rows.map(({ hash }) => hash)
}

/** As many as the node is asked for at once. */
const inBatches = (hashes: readonly Hex[]): readonly (readonly Hex[])[] =>
  hashes.flatMap((_, i) => (i % BATCH_SIZE === 0 ? [hashes.slice(i, i + BATCH_SIZE)] : []))

type TransactionFee = Fee & { readonly hash: Hex }

/** What those transactions cost that are in a block up to this one. */
async function fetchFees(
  wallet: GasWallet,
  hashes: readonly Hex[],
  upTo: bigint,
): Promise<readonly TransactionFee[]> {
  const fees = await Promise.all(
    hashes.map(async (hash) => {
      const fee = await wallet.fee(hash)
      return fee && fee.block <= upTo ? [{ ...fee, hash }] : []
    }),
  )
  return fees.flat()
}

/** Writes down what transactions cost, for good, whoever books it. */
const recordFees = (
  { pool, wallet, ethPrice }: GasAccountingDeps,
  fees: readonly TransactionFee[],
): Promise<void> =>
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
        `UPDATE hub.sent_transaction SET mined_at = $2, wei = $3, gwei = $4, worth = $5
         WHERE hash = $1 AND gwei IS NULL`,
        [hash, time, wei, whole.gwei, (wei * ethPrice) / WEI_PER_ETH],
      )
      await client.query('DELETE FROM hub.sent_payment WHERE hash = $1', [hash])
      if (rowCount === 1) ({ rest } = whole)
    }
    await client.query('UPDATE hub.gas_wallet SET rest = $3 WHERE chain_id = $1 AND address = $2', [
      ...key,
      rest,
    ])
  })

/** Another transaction has its number for good, and it was never mined: it cost nothing. */
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
}

async function postFees({ pool, ledger, wallet }: GasAccountingDeps): Promise<number> {
  const { rows } = await pool.query<RecordedFee>(
    `SELECT hash, mined_at, wei, gwei, worth FROM hub.sent_transaction
     WHERE chain_id = $1 AND sender = $2 AND gwei IS NOT NULL ORDER BY nonce`,
    walletKey(wallet),
  )
  const owner = await ledger.account(GAS)
  for (const { hash, mined_at: effectiveAt, wei, gwei, worth } of rows) {
    if (gwei > 0n || worth > 0n) {
      const id = derivedUuid(effectiveAt, hash)
      const event = { type: 'gas.paid', gwei, cost: worth as Micros } as const
      await postOrThrow(ledger, event, {
        owner,
        id,
        effectiveAt,
        meta: { tx: hash, wei: `${wei}` },
      })
    }
    await pool.query('DELETE FROM hub.sent_transaction WHERE hash = $1', [hash])
  }
  return rows.length
}
