import type { Pool, PoolClient } from 'pg'
import { type Actor, withAudit } from '../../core/audit/record.ts'
import type { Ledger } from '../../core/ledger/ledger.ts'
import { GAS, IN_TRANSIT, SPEND, TREASURY } from '../../core/ledger/postings.ts'
import type { BlockRef, Chain } from '../../core/payments/chain/chain.ts'
import { OutgoingSwitch } from '../../core/payments/operations/outgoing-switch.ts'
import type { ResolveDeps } from '../../core/payments/operations/resolve.ts'
import type { PayoutDeps } from '../../core/payments/payouts/payout.ts'
import { lockReconciliation } from '../../core/reconciliation/range.ts'
import { syncEntries } from '../../core/reconciliation/wallet-entries.ts'
import { closeOpenPayments, type OpenPayments } from './close-payments.ts'
import { callRpc } from './rpc.ts'
import type { Sandbox } from './start.ts'
import { fund } from './wallets.ts'

export interface ResetDeps {
  readonly pool: Pool
  readonly ledger: Ledger
  readonly payments: ResolveDeps
  readonly payouts: PayoutDeps
  readonly by: Actor
}

const REASON = 'The sandbox chain was replaced by a new one (--reset-chain).'
const WEI_PER_GWEI = 10n ** 9n

/**
 * Continues the ledger of a sandbox on a new chain: closes the payments of the old one, funds the
 * platform wallets with what the ledger says they hold, and starts reconciliation anew, which
 * explains all differences from the old chain. Recorded in the audit log. Nothing else may run.
 * @returns the payments that were open
 */
export async function resetChain(sandbox: Sandbox, deps: ResetDeps): Promise<OpenPayments> {
  const { pool, ledger } = deps
  const closed = await closeOpenPayments(pool, deps.payments, deps.payouts)
  const held = {
    treasury: 0n - (await ledger.balance(TREASURY)) - (await ledger.balance(IN_TRANSIT)),
    spend: 0n - (await ledger.balance(SPEND)),
  }
  const { rpcUrl, money, wallets, replacedChain } = sandbox
  await pool.query('DELETE FROM hub.sent_transaction')
  await fund(rpcUrl, wallets.treasury.account.address, { usdc: held.treasury })
  await fund(rpcUrl, wallets.spend.account.address, { usdc: held.spend })
  const wei = await readGas(deps)
  if (wei !== undefined) await fund(rpcUrl, wallets.gas.account.address, { wei })
  await callRpc(rpcUrl, 'evm_mine', []) // reconciliation reads its last block again
  const begin = await newestBlock(money.chain)
  await withAudit(pool, deps.by, REASON, async (client, note) => {
    const exceptions = await restartReconciliation(client, sandbox, held, begin)
    const after = { archive: replacedChain?.archive ?? null, block: begin.number, ...held }
    note({ act: 'chain.reset', subject: 'sandbox', after: { ...after, closed, exceptions } })
    const outgoing = new OutgoingSwitch(client)
    const state = await outgoing.state()
    if (!state?.paused || state.author !== 'reconciliation') return
    await outgoing.set(false, deps.by.name, REASON)
    note({ act: 'outgoing.resume', subject: 'outgoing', before: { reason: state.reason } })
  })
  return closed
}

/** Balance of the gas wallet by the ledger, in wei; undefined before its opening. */
async function readGas({ pool, ledger }: ResetDeps): Promise<bigint | undefined> {
  const { rows } = await pool.query<{ opening: bigint; rest: bigint; booked: boolean }>(
    'SELECT opening, rest, booked FROM hub.gas_wallet',
  )
  const [wallet] = rows
  if (!wallet) return undefined
  const gwei = wallet.booked ? 0n - (await ledger.balance(GAS)) : wallet.opening
  return gwei * WEI_PER_GWEI + wallet.rest
}

async function newestBlock(chain: Chain): Promise<BlockRef> {
  const { number } = await chain.head()
  const block = await chain.block(number)
  if (!block) throw new Error(`the new chain has no block ${number}`)
  return block
}

/** Closes all that is open from the old chain, and records a run at a block of the new one. */
async function restartReconciliation(
  client: PoolClient,
  { wallets }: Sandbox,
  held: { readonly treasury: bigint; readonly spend: bigint },
  { number, hash, time }: BlockRef,
): Promise<number> {
  await lockReconciliation(client)
  await syncEntries(client)
  const explained = await client.query(
    `UPDATE hub.reconciliation_exception SET resolved_at = clock_timestamp(),
       resolution = 'explained', author = 'sandbox', explanation = $1 WHERE resolved_at IS NULL`,
    [REASON],
  )
  await client.query('UPDATE hub.wallet_entry SET matched = true, transit = 0 WHERE NOT matched')
  await client.query('UPDATE hub.wallet_entry SET transit = 0 WHERE transit <> 0')
  await client.query(
    `UPDATE hub.transfer t SET gone_at = clock_timestamp() WHERE entry IS NULL AND gone_at IS NULL
       AND NOT EXISTS (SELECT FROM hub.reconciliation_exception x WHERE x.transfer = t.id
         AND x.resolution = 'booked')`,
  )
  for (const wallet of ['treasury', 'spend'] as const) {
    await client.query(
      `INSERT INTO hub.reconciliation (wallet, address, from_block, to_block, block_hash,
         block_time, chain_balance, ledger_balance, transfers, matched, pending, exceptions)
       VALUES ($1, $2, $3, $3, $4, $5, $6, $6, 0, 0, 0, 0)`,
      [wallet, wallets[wallet].account.address.toLowerCase(), number, hash, time, held[wallet]],
    )
  }
  await client.query('SELECT hub.confirm_outgoing(pg_postmaster_start_time(), $1, $1)', [number])
  return explained.rowCount ?? 0
}
