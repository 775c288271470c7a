import type { ClientBase } from 'pg'
import { audited } from '../audit/audit.ts'
import { tryOut } from '../db/transaction.ts'
import { Fault } from '../errors.ts'
import { derivedUuid } from '../ids.ts'
import { type Books, booksWithin } from '../ledger/in-transaction.ts'
import { GAS, walletOf } from '../ledger/postings.ts'
import { micros } from '../money.ts'
import type { Hex } from '../payments/chain/asset.ts'
import { type Chain, ChainUnavailable } from '../payments/chain/chain.ts'
import { blocksToWait } from '../payments/chain/evidence.ts'
import { lower, type Mined } from '../payments/chain/mined.ts'
import { takeWhole } from '../payments/facilitators/gas-books.ts'
import type { GasWallet } from '../payments/facilitators/gas-wallet.ts'
import { beginOf } from '../reconciliation/range.ts'
import { type FinancePorts, isNew, type Staff } from './adjustments.ts'

export interface TransferPorts extends Pick<FinancePorts, 'pool' | 'ledger'> {
  readonly chain: Chain
  readonly treasury: Hex
  readonly spend: Hex
  readonly gas: GasWallet | undefined
  /** Blocks with a small transfer and on top of it before it is final. */
  readonly finality: bigint
}

/** What a transaction did to the wallets of the house, as it is booked. */
interface Booking {
  readonly id: string
  readonly from: string
  readonly to: string
  /** Microdollars, or gwei of gas. */
  readonly amount: bigint
  readonly asset: 'USDC' | 'GWEI'
}

export interface BookedTransfers {
  readonly block: bigint
  readonly time: Date
  readonly entries: readonly Booking[]
  /** Whether anything is booked by this very request. */
  readonly fresh: boolean
}

/**
 * Books what a transaction moved between the wallets of the house: USDC between treasury and spend
 * wallet, and ETH that the gas wallet was sent. Who asks names the transaction alone; what it did
 * is told by the hub's own node. The same transaction again is the same entries.
 * @throws Fault `not_booked` with the reason, `chain_unavailable`
 */
export async function bookTransfers(
  ports: TransferPorts,
  by: Staff,
  tx: Hex,
  reason: string,
): Promise<BookedTransfers> {
  const found = await findTransfers(ports, tx)
  return audited(ports.pool, by, reason, async (client, note) => {
    const made = await write(ports, client, found, { author: by.name, reason })
    if (made.fresh) note({ act: 'transfer.book', subject: tx, after: { entries: made.entries } })
    return made
  })
}

/**
 * What `bookTransfers` would do, by doing it and leaving nothing of it.
 * @throws Fault as it does
 */
export async function foreseeTransfers(ports: TransferPorts, tx: Hex): Promise<BookedTransfers> {
  const found = await findTransfers(ports, tx)
  const why = { author: 'nobody', reason: 'To be foreseen.' } // the books take none without
  return tryOut(ports.pool, (client) => write(ports, client, found, why))
}

/** What a transaction did that is final, and of which no opening balance knows. */
interface Found {
  readonly tx: Hex
  readonly mined: Mined
  /** USDC between wallets of the house. */
  readonly moves: readonly Booking[]
  /** Wei that the gas wallet was sent. */
  readonly sent: bigint
}

async function findTransfers(ports: TransferPorts, tx: Hex): Promise<Found> {
  const mined = await minedOf(ports, tx)
  const moves = movesOf(ports, tx, mined)
  const sent = ports.gas ? weiFor(lower(ports.gas.address), mined) : 0n
  if (moves.length === 0 && sent === 0n) {
    throw notBooked('not_ours', 'It moves nothing between wallets of the house.')
  }
  assertFinal(ports, mined, moves)
  if (moves.length > 0) await assertAfterOpening(ports, mined)
  return { tx, mined, moves, sent }
}

async function write(
  { ledger, gas }: TransferPorts,
  client: ClientBase,
  { tx, mined, moves, sent }: Found,
  why: Readonly<Record<string, string>>,
): Promise<BookedTransfers> {
  await assertUnexplained(client, tx, moves)
  const desk = { books: booksWithin(ledger, client), client, mined }
  const meta = { tx, block: String(mined.block), ...why }
  const entries = [...moves]
  let fresh = false
  for (const move of moves) fresh = (await bookMove(desk, move, meta)) || fresh
  if (gas && sent > 0n) {
    const made = await bookGas(desk, gas, sent, meta)
    entries.push(made.booking)
    fresh ||= made.fresh
  }
  return { block: mined.block, time: mined.time, entries, fresh }
}

/** Why a transaction is not booked; of gas the books of its wallet say it in words alone. */
export type NotBooked = 'not_mined' | 'not_final' | 'not_ours' | 'opening' | 'accounted_for'

const notBooked = (why: NotBooked, text: string, more: object = {}): Fault =>
  new Fault('not_booked', text, { extras: { why, ...more } })

/** Where entries are written, in one transaction. */
interface Desk {
  readonly books: Books
  readonly client: ClientBase
  readonly mined: Mined
}
type Meta = Readonly<Record<string, string>> & { readonly tx: Hex }

/** @returns whether it was not booked before */
async function bookMove({ books, mined }: Desk, move: Booking, meta: Meta): Promise<boolean> {
  const { id, amount } = move
  const [from, to] = [nameOf(move.from), nameOf(move.to)]
  const event = { type: 'wallet.moved', from, to, amount: micros(amount) } as const
  const owner = await books.account(walletOf(from))
  return isNew(await books.post(event, { owner, id, effectiveAt: mined.time, meta }))
}

async function bookGas(
  { books, client, mined }: Desk,
  wallet: GasWallet,
  wei: bigint,
  meta: Meta,
): Promise<{ readonly booking: Booking; readonly fresh: boolean }> {
  const owner = await books.account(GAS)
  const id = derivedUuid(mined.time, `gas ${meta.tx}`)
  const booking = { id, from: ETH_OUTSIDE, to: GAS, asset: 'GWEI' } as const
  const { rows } = await client.query<{ amount: bigint }>(
    `SELECT (SELECT max(u) FROM unnest(amounts) u) AS amount FROM ledger.journal
     WHERE owner = $1 AND id = $2 AND phase = 0`,
    [owner.id, id],
  )
  if (rows[0]) return { booking: { ...booking, amount: rows[0].amount }, fresh: false }
  const amount = await takeWhole(client, wallet, wei, mined.block)
  const event = { type: 'balance.adjusted', debit: GAS, credit: ETH_OUTSIDE, amount } as const
  const entry = { owner, id, effectiveAt: mined.time, meta }
  const fresh = isNew(await books.post({ ...event, asset: 'GWEI' }, entry))
  return { booking: { ...booking, amount }, fresh }
}

const ETH_OUTSIDE = 'equity:opening-eth'

type Name = 'treasury' | 'spend'
const nameOf = (account: string): Name => (account === walletOf('spend') ? 'spend' : 'treasury')

async function minedOf({ chain }: TransferPorts, tx: Hex): Promise<Mined> {
  try {
    const mined = await chain.mined(tx)
    if (mined) return mined
  } catch (error) {
    if (!(error instanceof ChainUnavailable)) throw error
    throw new Fault('chain_unavailable', undefined, { cause: error })
  }
  throw notBooked('not_mined', 'No block has this transaction, or it failed.')
}

/** ETH that a wallet was sent; what it sends itself stays where it is. */
const weiFor = (wallet: Hex, { from, to, wei }: Mined): bigint =>
  to === wallet && from !== wallet ? wei : 0n

/** USDC from one wallet of the house to the other. */
function movesOf({ treasury, spend }: TransferPorts, tx: Hex, mined: Mined): readonly Booking[] {
  const accounts = new Map([
    [lower(treasury), walletOf('treasury')],
    [lower(spend), walletOf('spend')],
  ])
  return mined.moves.flatMap(({ logIndex, from, to, value }) => {
    const [source, target] = [accounts.get(from), accounts.get(to)]
    if (!source || !target || source === target) return []
    const id = derivedUuid(mined.time, `transfer ${tx} ${logIndex}`)
    return [{ id, from: source, to: target, amount: value, asset: 'USDC' as const }]
  })
}

function assertFinal(
  { finality }: TransferPorts,
  { confirmations }: Mined,
  moves: readonly Booking[],
): void {
  const most = moves.reduce((max, { amount }) => (amount > max ? amount : max), 0n)
  const needed = blocksToWait(finality, most)
  if (confirmations >= needed) return
  const text = `It is final in ${needed - confirmations} blocks: ask again then.`
  throw notBooked('not_final', text, {
    confirmations: Number(confirmations),
    needed: Number(needed),
  })
}

/** What an opening balance holds already is not booked once more. */
async function assertAfterOpening(
  { pool, treasury, spend }: TransferPorts,
  { block }: Mined,
): Promise<void> {
  for (const [wallet, address] of Object.entries({ treasury, spend })) {
    const begin = await beginOf(pool, { wallet: wallet as Name, address: lower(address) }, -1n)
    if (block > begin) continue
    throw notBooked('opening', `The opening of ${wallet}, of block ${begin}, has it already.`)
  }
}

/** What a person accounted for in another way is not booked once more. */
async function assertUnexplained(
  client: ClientBase,
  tx: Hex,
  moves: readonly Booking[],
): Promise<void> {
  const { rows } = await client.query<{ what: string }>(
    `SELECT 'exception ' || id AS what FROM hub.reconciliation_exception
       WHERE tx = $1 AND resolution IN ('booked', 'explained')
     UNION ALL SELECT event || ' ' || entry FROM hub.wallet_entry
       WHERE tx = $1 AND entry <> ALL ($2::uuid[]) LIMIT 1`,
    [tx, moves.map(({ id }) => id)],
  )
  if (rows[0]) throw notBooked('accounted_for', `It is accounted for by ${rows[0].what}.`)
}
