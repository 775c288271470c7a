import type { Pool } from 'pg'
import { hexToBigInt, pad, toEventSelector } from 'viem'
import { dayName } from '../../../clock.ts'
import { inTransaction } from '../../../db/transaction.ts'
import { type Hex, USDC_BASE } from '../../../payments/chain/asset.ts'
import { startTimeBudget, type TimeBudget } from '../time-budget.ts'
import type { ChainLog, ChainLogs } from './chain-logs.ts'
import { openSource, stopPass } from './sources.ts'

export interface ReadTransfersDeps extends TimeBudget {
  readonly pool: Pool
  readonly chainLogs: ChainLogs
  /** Addresses that settle x402 payments for sellers, in lower case. */
  readonly facilitators: readonly string[]
  /** Number of latest blocks that are not read yet, because of possible reorganizations. */
  readonly depth: bigint
}

/** Facilitators on Base (Coinbase, thirdweb, x402-rs); HUB_FACILITATORS adds more. */
export const KNOWN_FACILITATORS: readonly string[] = [
  '0xdbdf3d8ed80f84c35d01c6c9f9271761bad90ba6',
  '0x9aae2b0d1b9dc55ac9bab9556f9a26cb64995fb9',
  '0x3a70788150c7645a21b95b7062ab1784d3cc2104',
  '0x708e57b6650a9a741ab39cae1969ea1d2d10eca1',
  '0xce82eeec8e98e443ec34fda3c3e999cbe4cb6ac2',
  '0x80c08de1a05df2bd633cf520754e40fde3c794d3',
  '0xd8dfc729cbd05381647eb5540d756f4f8ad63eec',
]

const TRANSFERS_SOURCE = 'usdc:eip155:8453'
const TRANSFER = toEventSelector('Transfer(address,address,uint256)')
const SPAN_BLOCKS = 500n
/** Blocks that a new installation reads back: one hour. */
const INITIAL_BLOCKS = 1_800n
const PAYEES_AT_ONCE = 100
const PAYEES_MAX = 2_000
const SENDERS_AT_ONCE = 8
/** Transfers counted per range; more would add no evidence. */
const TRANSFERS_MAX = 2_000

/**
 * Counts payments of known facilitators to the addresses of listings, as evidence of buyers.
 * Addresses are shared and routed, so that it does not show which URL was paid; rank and state do
 * not depend on it.
 */
export async function readTransfers(deps: ReadTransfersDeps): Promise<void> {
  const { pool, chainLogs, depth } = deps
  const isTimeUp = startTimeBudget(deps, 30_000)
  const { place } = await openSource(pool, TRANSFERS_SOURCE)
  try {
    const { number, time } = await chainLogs.head()
    const last = number - depth
    const saved = place['block']
    const fresh = last > INITIAL_BLOCKS ? last - INITIAL_BLOCKS : 0n
    let next = typeof saved === 'string' ? BigInt(saved) : fresh
    while (next <= last && !isTimeUp()) {
      const to = next + SPAN_BLOCKS - 1n < last ? next + SPAN_BLOCKS - 1n : last
      // Base has a block every two seconds, which is exact enough for the day.
      const at = new Date(time.getTime() - Number(number - to) * 2_000)
      const counts = await countTransfers(deps, next, to)
      await saveCounts(pool, dayName(at), counts, to + 1n)
      next = to + 1n
    }
  } catch (error) {
    await stopPass(pool, TRANSFERS_SOURCE, (error as Error).message)
  }
}

interface PayeeTotals {
  payments: number
  amount: bigint
}

async function countTransfers(deps: ReadTransfersDeps, fromBlock: bigint, toBlock: bigint) {
  const { pool, chainLogs, facilitators } = deps
  const { rows } = await pool.query<{ payee: Hex }>(
    `SELECT DISTINCT lower(pay_to) AS payee FROM hub.listing
     WHERE network = $1 AND removed_at IS NULL LIMIT $2`,
    [USDC_BASE.network, PAYEES_MAX],
  )
  const logs: ChainLog[] = []
  for (let at = 0; at < rows.length; at += PAYEES_AT_ONCE) {
    const payees = rows.slice(at, at + PAYEES_AT_ONCE).map(({ payee }) => pad(payee))
    const topics = [TRANSFER, null, payees]
    logs.push(...(await chainLogs.logs({ address: USDC_BASE.address, topics, fromBlock, toBlock })))
  }
  const known = new Set(facilitators)
  const senders = await sendersOf(chainLogs, logs.slice(0, TRANSFERS_MAX))
  const counts = new Map<string, PayeeTotals>()
  for (const log of logs.slice(0, TRANSFERS_MAX)) {
    const amount = hexToBigInt(log.data)
    const payee = `0x${(log.topics[2] ?? '').slice(-40)}`
    if (amount === 0n || !known.has(senders.get(log.tx) ?? '')) continue
    const count = counts.get(payee) ?? { payments: 0, amount: 0n }
    counts.set(payee, { payments: count.payments + 1, amount: count.amount + amount })
  }
  return counts
}

async function sendersOf(chainLogs: ChainLogs, logs: readonly ChainLog[]) {
  const senders = new Map<Hex, string | undefined>()
  const open = [...new Set(logs.map(({ tx }) => tx))]
  const worker = async (): Promise<void> => {
    for (let tx = open.pop(); tx; tx = open.pop()) senders.set(tx, await chainLogs.senderOf(tx))
  }
  await Promise.all(Array.from({ length: SENDERS_AT_ONCE }, worker))
  return senders
}

/** Saves the counts and the next place in one transaction, so that no transfer counts twice. */
async function saveCounts(
  pool: Pool,
  day: string,
  counts: ReadonlyMap<string, PayeeTotals>,
  next: bigint,
): Promise<void> {
  const rows = [...counts].map(([payTo, { payments, amount }]) => {
    return { pay_to: payTo, day, payments, amount: String(amount) }
  })
  await inTransaction(pool, async (client) => {
    await client.query(
      `INSERT INTO hub.payee_day AS p
       SELECT * FROM jsonb_populate_recordset(NULL::hub.payee_day, $1)
       ON CONFLICT (pay_to, day) DO UPDATE SET payments = p.payments + excluded.payments,
         amount = p.amount + excluded.amount`,
      [JSON.stringify(rows)],
    )
    const { rowCount } = await client.query(
      `UPDATE hub.discovery SET place = $2, pages = pages + 1, failures = 0, error = NULL,
         finished_at = now(), rows = rows + $3
       WHERE source = $1 AND coalesce(place ->> 'block', '0')::bigint < $4`,
      [TRANSFERS_SOURCE, { block: String(next) }, rows.length, next],
    )
    if (rowCount !== 1) throw new Error('another process is reading the transfers')
  })
}

/** Returns the payments of known facilitators to an address in 30 days. */
export async function readPaymentsTo(
  pool: Pool,
  payTo: string,
): Promise<{ readonly payments: number; readonly amount: bigint }> {
  const { rows } = await pool.query<{ payments: number; amount: bigint }>(
    `SELECT coalesce(sum(payments), 0)::integer AS payments,
       coalesce(sum(amount), 0)::bigint AS amount
     FROM hub.payee_day WHERE pay_to = lower($1) AND day > now() - interval '30 days'`,
    [payTo],
  )
  return rows[0]!
}
