import type { ClientBase } from 'pg'
import type { AuditedChange } from '../audit/record.ts'
import { inRolledBackTransaction } from '../db/transaction.ts'
import { Fault } from '../errors.ts'
import { derivedUuid, uuidv7 } from '../ids.ts'
import { ledgerInTransaction, type PostingLedger } from '../ledger/in-transaction.ts'
import { GAS, walletOf } from '../ledger/postings.ts'
import { micros } from '../money.ts'
import type { Hex } from '../payments/chain/asset.ts'
import { type Chain, ChainUnavailable } from '../payments/chain/chain.ts'
import { lowerCaseHex, type MinedTransaction } from '../payments/chain/transfer-logs.ts'
import { requiredConfirmations } from '../payments/chain/verdict.ts'
import { addWholeGwei } from '../payments/facilitators/gas-accounting.ts'
import type { GasWallet } from '../payments/facilitators/gas-wallet.ts'
import { findBeginBlock } from '../reconciliation/range.ts'
import type { WalletName } from '../reconciliation/types.ts'
import { isNewEntry } from './posting-faults.ts'
import {
  type ActTerms,
  type Execution,
  type FinanceDeps,
  type Staff,
  type SubmittedAct,
  submitAct,
  withActContext,
} from './staff-acts.ts'

export interface TransferDeps extends FinanceDeps {
  readonly chain: Chain
  readonly treasury: Hex
  readonly spend: Hex
  readonly gas: GasWallet | undefined
  /** Confirmations until a small transfer is final. */
  readonly finality: bigint
}

/** Entry for one movement between platform wallets. */
interface Transfer {
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
  readonly entries: readonly Transfer[]
  /** True if this request posted at least one of the entries. */
  readonly fresh: boolean
}

/**
 * Posts the movements of a transaction between platform wallets: USDC between treasury and spend
 * wallet, and ETH sent to the gas wallet. The amounts are read from the hub's own node. Idempotent:
 * repeating a transaction returns the same entries. Large ones are proposed: see `submitAct`.
 * @throws Fault `not_booked` with the reason, `chain_unavailable`
 */
export async function postWalletTransfers(
  deps: TransferDeps,
  by: Staff,
  tx: Hex,
  reason: string,
): Promise<PostedTransfers & Pick<SubmittedAct, 'state'>> {
  const found = await findFinalTransaction(deps, tx)
  let posted: PostedTransfers | undefined
  const { state } = await withActContext(deps, by, reason, (context) => {
    const order = {
      id: uuidv7(deps.clock.now().getTime()),
      kind: 'transfer',
      subject: tx,
      terms: { transaction: tx },
      accounts: [],
      exposure: found.moves.reduce((sum, { amount }) => sum + amount, 0n),
    } as const
    return submitAct(context, order, async (client, decision) => {
      posted = await postEntries(deps, client, found, { ...decision })
      return toChange(tx, posted)
    })
  })
  return { ...(posted ?? (await tryPosting(deps, found))), state }
}

/** Execution of a proposed transfer. The transaction is read from the chain again. */
export async function prepareWalletTransfers(
  deps: TransferDeps,
  { transaction }: ActTerms,
): Promise<Execution> {
  const tx = transaction as Hex
  const found = await findFinalTransaction(deps, tx)
  return async (client, decision) =>
    toChange(tx, await postEntries(deps, client, found, { ...decision }))
}

const toChange = (tx: Hex, { fresh, entries }: PostedTransfers): AuditedChange | undefined =>
  fresh ? { act: 'transfer.book', subject: tx, after: { entries } } : undefined

/** Dry run of `postWalletTransfers`: posts and rolls back. @throws the same Faults */
export const previewWalletTransfers = async (
  deps: TransferDeps,
  tx: Hex,
): Promise<PostedTransfers> => tryPosting(deps, await findFinalTransaction(deps, tx))

function tryPosting(deps: TransferDeps, found: FinalTransaction): Promise<PostedTransfers> {
  const why = { author: 'nobody', reason: 'Dry run.' } // the ledger requires both
  return inRolledBackTransaction(deps.pool, (client) => postEntries(deps, client, found, why))
}

/** Relevant movements of a final transaction that no opening balance includes. */
interface FinalTransaction {
  readonly tx: Hex
  readonly mined: MinedTransaction
  readonly moves: readonly Transfer[]
  readonly sent: bigint
}

async function findFinalTransaction(deps: TransferDeps, tx: Hex): Promise<FinalTransaction> {
  const mined = await findMined(deps, tx)
  const moves = findMoves(deps, tx, mined)
  const sent = deps.gas ? receivedWei(lowerCaseHex(deps.gas.address), mined) : 0n
  if (moves.length === 0 && sent === 0n) {
    throw refusal('not_ours', 'The transaction moves nothing between platform wallets.')
  }
  assertFinal(deps, mined, moves)
  if (moves.length > 0) await assertAfterOpening(deps, mined)
  return { tx, mined, moves, sent }
}

async function postEntries(
  { ledger, gas }: TransferDeps,
  client: ClientBase,
  { tx, mined, moves, sent }: FinalTransaction,
  why: Readonly<Record<string, string>>,
): Promise<PostedTransfers> {
  await assertUnexplained(client, tx, moves)
  const context = { ledger: ledgerInTransaction(ledger, client), client, mined }
  const meta = { tx, block: String(mined.block), ...why }
  const entries = [...moves]
  let fresh = false
  for (const move of moves) fresh = (await postMove(context, move, meta)) || fresh
  if (gas && sent > 0n) {
    const posted = await postGas(context, gas, sent, meta)
    entries.push(posted.entry)
    fresh ||= posted.fresh
  }
  return { block: mined.block, time: mined.time, entries, fresh }
}

/** Reason why a transaction is refused; refusals by the gas accounting have only a text. */
export type RefusalReason = 'not_mined' | 'not_final' | 'not_ours' | 'opening' | 'accounted_for'

const refusal = (why: RefusalReason, text: string, more: object = {}): Fault =>
  new Fault('not_booked', text, { extras: { why, ...more } })

/** Transaction in which entries are posted. */
interface Context {
  readonly ledger: PostingLedger
  readonly client: ClientBase
  readonly mined: MinedTransaction
}
type Meta = Readonly<Record<string, string>> & { readonly tx: Hex }

/** @returns true if the entry is new */
async function postMove({ ledger, mined }: Context, move: Transfer, meta: Meta): Promise<boolean> {
  const { id, amount } = move
  const [from, to] = [walletNameOf(move.from), walletNameOf(move.to)]
  const event = { type: 'wallet.moved', from, to, amount: micros(amount) } as const
  const owner = await ledger.account(walletOf(from))
  return isNewEntry(await ledger.post(event, { owner, id, effectiveAt: mined.time, meta }))
}

async function postGas(
  { ledger, client, mined }: Context,
  wallet: GasWallet,
  wei: bigint,
  meta: Meta,
): Promise<{ readonly entry: Transfer; readonly fresh: boolean }> {
  const owner = await ledger.account(GAS)
  const id = derivedUuid(mined.time, `gas ${meta.tx}`)
  const transfer = { id, from: ETH_OUTSIDE, to: GAS, asset: 'GWEI' } as const
  const { rows } = await client.query<{ amount: bigint }>(
    `SELECT (SELECT max(u) FROM unnest(j.amounts) u) AS amount
     FROM ledger.entry_of($1, $2, $3, 0::smallint) j`,
    [owner.shard, owner.id, id],
  )
  if (rows[0]) return { entry: { ...transfer, amount: rows[0].amount }, fresh: false }
  const amount = await addWholeGwei(client, wallet, wei, mined.block)
  const event = { type: 'balance.adjusted', debit: GAS, credit: ETH_OUTSIDE, amount } as const
  const header = { owner, id, effectiveAt: mined.time, meta }
  const fresh = isNewEntry(await ledger.post({ ...event, asset: 'GWEI' }, header))
  return { entry: { ...transfer, amount }, fresh }
}

const ETH_OUTSIDE = 'equity:opening-eth'

const walletNameOf = (account: string): 'treasury' | 'spend' =>
  account === walletOf('spend') ? 'spend' : 'treasury'

async function findMined({ chain }: TransferDeps, tx: Hex): Promise<MinedTransaction> {
  try {
    const mined = await chain.minedTransaction(tx)
    if (mined) return mined
  } catch (error) {
    if (!(error instanceof ChainUnavailable)) throw error
    throw new Fault('chain_unavailable', undefined, { cause: error })
  }
  throw refusal('not_mined', 'The transaction is not in a block, or it failed.')
}

/** Wei received by a wallet; transfers to itself do not count. */
const receivedWei = (wallet: Hex, { from, to, wei }: MinedTransaction): bigint =>
  to === wallet && from !== wallet ? wei : 0n

/** Finds the USDC transfers between platform wallets. */
function findMoves(
  { treasury, spend }: TransferDeps,
  tx: Hex,
  mined: MinedTransaction,
): readonly Transfer[] {
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
  { finality }: TransferDeps,
  { confirmations }: MinedTransaction,
  moves: readonly Transfer[],
): void {
  const largest = moves.reduce((max, { amount }) => (amount > max ? amount : max), 0n)
  const needed = requiredConfirmations(finality, largest)
  if (confirmations >= needed) return
  const text = `The transaction is final in ${needed - confirmations} blocks. Try again then.`
  throw refusal('not_final', text, {
    confirmations: Number(confirmations),
    needed: Number(needed),
  })
}

/** Refuses transactions that an opening balance already includes. */
async function assertAfterOpening(
  { pool, treasury, spend }: TransferDeps,
  { block }: MinedTransaction,
): Promise<void> {
  for (const [wallet, address] of Object.entries({ treasury, spend })) {
    const begin = await findBeginBlock(
      pool,
      { wallet: wallet as WalletName, address: lowerCaseHex(address) },
      -1n,
    )
    if (block > begin) continue
    throw refusal('opening', `The opening balance of ${wallet} at block ${begin} includes it.`)
  }
}

/** Refuses transactions that were already accounted for in another way. */
async function assertUnexplained(
  client: ClientBase,
  tx: Hex,
  moves: readonly Transfer[],
): Promise<void> {
  const { rows } = await client.query<{ what: string }>(
    `SELECT 'exception ' || id AS what FROM hub.reconciliation_exception
       WHERE tx = $1 AND resolution IN ('booked', 'explained')
     UNION ALL SELECT event || ' ' || entry FROM hub.wallet_entry
       WHERE tx = $1 AND entry <> ALL ($2::uuid[]) LIMIT 1`,
    [tx, moves.map(({ id }) => id)],
  )
  if (rows[0]) throw refusal('accounted_for', `It is already accounted for by ${rows[0].what}.`)
}
