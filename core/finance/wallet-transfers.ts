import type { ClientBase } from 'pg'
import { withAudit } from '../audit/record.ts'
import { inRolledBackTransaction } from '../db/transaction.ts'
import { Fault } from '../errors.ts'
import { derivedUuid } from '../ids.ts'
import { ledgerInTransaction, type PostingLedger } from '../ledger/in-transaction.ts'
import { GAS, walletOf } from '../ledger/postings.ts'
import { micros } from '../money.ts'
import type { Hex } from '../payments/chain/asset.ts'
import { type Chain, ChainUnavailable } from '../payments/chain/chain.ts'
import { lowerCaseHex, type MinedTransaction } from '../payments/chain/mined-transaction.ts'
import { requiredConfirmations } from '../payments/chain/verdict.ts'
import { addWholeGwei } from '../payments/facilitators/gas-accounting.ts'
import type { GasWallet } from '../payments/facilitators/gas-wallet.ts'
import { findBeginBlock } from '../reconciliation/range.ts'
import { type FinanceDeps, isNewEntry, type Staff } from './adjustments.ts'

export interface WalletTransferDeps extends Pick<FinanceDeps, 'pool' | 'ledger'> {
  readonly chain: Chain
  readonly treasury: Hex
  readonly spend: Hex
  readonly gas: GasWallet | undefined
  /** Blocks with a small transfer and on top of it before it is final. */
  readonly finality: bigint
}

/** What a transaction did to the wallets of the house, as it is booked. */
interface TransferEntry {
  readonly id: string
  readonly from: string
  readonly to: string
  /** Microdollars, or gwei of gas. */
  readonly amount: bigint
  readonly asset: 'USDC' | 'GWEI'
}

export interface PostedTransfers {
  readonly block: bigint
  readonly time: Date
  readonly entries: readonly TransferEntry[]
  /** Whether anything is booked by this very request. */
  readonly fresh: boolean
}

/**
 * Books what a transaction moved between the wallets of the house: USDC between treasury and spend
 * wallet, and ETH that the gas wallet was sent. Who asks names the transaction alone; what it did
 * is told by the hub's own node. The same transaction again is the same entries.
 * @throws Fault `not_booked` with the reason, `chain_unavailable`
 */
export async function postWalletTransfers(
  ports: WalletTransferDeps,
  by: Staff,
  tx: Hex,
  reason: string,
): Promise<PostedTransfers> {
  const found = await findFinalTransaction(ports, tx)
  return withAudit(ports.pool, by, reason, async (client, note) => {
    const made = await postEntries(ports, client, found, { author: by.name, reason })
    if (made.fresh) note({ act: 'transfer.book', subject: tx, after: { entries: made.entries } })
    return made
  })
}

/**
 * What `bookTransfers` would do, by doing it and leaving nothing of it.
 * @throws Fault as it does
 */
export async function previewWalletTransfers(
  ports: WalletTransferDeps,
  tx: Hex,
): Promise<PostedTransfers> {
  const found = await findFinalTransaction(ports, tx)
  const why = { author: 'nobody', reason: 'To be foreseen.' } // the books take none without
  return inRolledBackTransaction(ports.pool, (client) => postEntries(ports, client, found, why))
}

/** What a transaction did that is final, and of which no opening balance knows. */
interface FinalTransaction {
  readonly tx: Hex
  readonly mined: MinedTransaction
  /** USDC between wallets of the house. */
  readonly moves: readonly TransferEntry[]
  /** Wei that the gas wallet was sent. */
  readonly sent: bigint
}

async function findFinalTransaction(ports: WalletTransferDeps, tx: Hex): Promise<FinalTransaction> {
  const mined = await findMined(ports, tx)
  const moves = findMoves(ports, tx, mined)
  const sent = ports.gas ? receivedWei(lowerCaseHex(ports.gas.address), mined) : 0n
  if (moves.length === 0 && sent === 0n) {
    throw refusal('not_ours', 'It moves nothing between wallets of the house.')
  }
  assertFinal(ports, mined, moves)
  if (moves.length > 0) await assertAfterOpening(ports, mined)
  return { tx, mined, moves, sent }
}

async function postEntries(
  { ledger, gas }: WalletTransferDeps,
  client: ClientBase,
  { tx, mined, moves, sent }: FinalTransaction,
  why: Readonly<Record<string, string>>,
): Promise<PostedTransfers> {
  await assertUnexplained(client, tx, moves)
  const desk = { books: ledgerInTransaction(ledger, client), client, mined }
  const meta = { tx, block: String(mined.block), ...why }
  const entries = [...moves]
  let fresh = false
  for (const move of moves) fresh = (await postMove(desk, move, meta)) || fresh
  if (gas && sent > 0n) {
    const made = await postGas(desk, gas, sent, meta)
    entries.push(made.booking)
    fresh ||= made.fresh
  }
  return { block: mined.block, time: mined.time, entries, fresh }
}

/** Why a transaction is not booked; of gas the books of its wallet say it in words alone. */
export type RefusalReason = 'not_mined' | 'not_final' | 'not_ours' | 'opening' | 'accounted_for'

const refusal = (why: RefusalReason, text: string, more: object = {}): Fault =>
  new Fault('not_booked', text, { extras: { why, ...more } })

/** Where entries are written, in one transaction. */
interface PostingContext {
  readonly books: PostingLedger
  readonly client: ClientBase
  readonly mined: MinedTransaction
}
type EntryMeta = Readonly<Record<string, string>> & { readonly tx: Hex }

/** @returns whether it was not booked before */
async function postMove(
  { books, mined }: PostingContext,
  move: TransferEntry,
  meta: EntryMeta,
): Promise<boolean> {
  const { id, amount } = move
  const [from, to] = [walletNameOf(move.from), walletNameOf(move.to)]
  const event = { type: 'wallet.moved', from, to, amount: micros(amount) } as const
  const owner = await books.account(walletOf(from))
  return isNewEntry(await books.post(event, { owner, id, effectiveAt: mined.time, meta }))
}

async function postGas(
  { books, client, mined }: PostingContext,
  wallet: GasWallet,
  wei: bigint,
  meta: EntryMeta,
): Promise<{ readonly booking: TransferEntry; readonly fresh: boolean }> {
  const owner = await books.account(GAS)
  const id = derivedUuid(mined.time, `gas ${meta.tx}`)
  const booking = { id, from: ETH_OUTSIDE, to: GAS, asset: 'GWEI' } as const
  const { rows } = await client.query<{ amount: bigint }>(
    `SELECT (SELECT max(u) FROM unnest(amounts) u) AS amount FROM ledger.journal
     WHERE owner = $1 AND id = $2 AND phase = 0`,
    [owner.id, id],
  )
  if (rows[0]) return { booking: { ...booking, amount: rows[0].amount }, fresh: false }
  const amount = await addWholeGwei(client, wallet, wei, mined.block)
  const event = { type: 'balance.adjusted', debit: GAS, credit: ETH_OUTSIDE, amount } as const
  const entry = { owner, id, effectiveAt: mined.time, meta }
  const fresh = isNewEntry(await books.post({ ...event, asset: 'GWEI' }, entry))
  return { booking: { ...booking, amount }, fresh }
}

const ETH_OUTSIDE = 'equity:opening-eth'

type Name = 'treasury' | 'spend'
const walletNameOf = (account: string): Name =>
  account === walletOf('spend') ? 'spend' : 'treasury'

async function findMined({ chain }: WalletTransferDeps, tx: Hex): Promise<MinedTransaction> {
  try {
    const mined = await chain.minedTransaction(tx)
    if (mined) return mined
  } catch (error) {
    if (!(error instanceof ChainUnavailable)) throw error
    throw new Fault('chain_unavailable', undefined, { cause: error })
  }
  throw refusal('not_mined', 'No block has this transaction, or it failed.')
}

/** ETH that a wallet was sent; what it sends itself stays where it is. */
const receivedWei = (wallet: Hex, { from, to, wei }: MinedTransaction): bigint =>
  to === wallet && from !== wallet ? wei : 0n

/** USDC from one wallet of the house to the other. */
function findMoves(
  { treasury, spend }: WalletTransferDeps,
  tx: Hex,
  mined: MinedTransaction,
): readonly TransferEntry[] {
  const accounts = new Map([
    [lowerCaseHex(treasury), walletOf('treasury')],
    [lowerCaseHex(spend), walletOf('spend')],
  ])
  return mined.transfers.flatMap(({ logIndex, from, to, value }) => {
    const [source, target] = [accounts.get(from), accounts.get(to)]
    if (!source || !target || source === target) return []
    const id = derivedUuid(mined.time, `transfer ${tx} ${logIndex}`)
    return [{ id, from: source, to: target, amount: value, asset: 'USDC' as const }]
  })
}

function assertFinal(
  { finality }: WalletTransferDeps,
  { confirmations }: MinedTransaction,
  moves: readonly TransferEntry[],
): void {
  const most = moves.reduce((max, { amount }) => (amount > max ? amount : max), 0n)
  const needed = requiredConfirmations(finality, most)
  if (confirmations >= needed) return
  const text = `It is final in ${needed - confirmations} blocks: ask again then.`
  throw refusal('not_final', text, {
    confirmations: Number(confirmations),
    needed: Number(needed),
  })
}

/** What an opening balance holds already is not booked once more. */
async function assertAfterOpening(
  { pool, treasury, spend }: WalletTransferDeps,
  { block }: MinedTransaction,
): Promise<void> {
  for (const [wallet, address] of Object.entries({ treasury, spend })) {
    const begin = await findBeginBlock(
      pool,
      { wallet: wallet as Name, address: lowerCaseHex(address) },
      -1n,
    )
    if (block > begin) continue
    throw refusal('opening', `The opening of ${wallet}, of block ${begin}, has it already.`)
  }
}

/** What a person accounted for in another way is not booked once more. */
async function assertUnexplained(
  client: ClientBase,
  tx: Hex,
  moves: readonly TransferEntry[],
): Promise<void> {
  const { rows } = await client.query<{ what: string }>(
    `SELECT 'exception ' || id AS what FROM hub.reconciliation_exception
       WHERE tx = $1 AND resolution IN ('booked', 'explained')
     UNION ALL SELECT event || ' ' || entry FROM hub.wallet_entry
       WHERE tx = $1 AND entry <> ALL ($2::uuid[]) LIMIT 1`,
    [tx, moves.map(({ id }) => id)],
  )
  if (rows[0]) throw refusal('accounted_for', `It is accounted for by ${rows[0].what}.`)
}
