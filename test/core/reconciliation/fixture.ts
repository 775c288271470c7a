import { encodeFunctionData } from 'viem'
import type { SingleStepEvent } from '../../../core/ledger/events.ts'
import { Ledger } from '../../../core/ledger/ledger.ts'
import { SPEND, walletOf } from '../../../core/ledger/postings.ts'
import type { Hex } from '../../../core/payments/chain/asset.ts'
import {
  type ReconcileOptions,
  type ReconciliationResult,
  reconcile,
} from '../../../core/reconciliation/reconcile.ts'
import contracts from '../../../server/sandbox/contracts/contracts.artifact.json' with {
  type: 'json',
}
import { fund } from '../../../server/sandbox/wallets.ts'
import { eventually } from '../../support/eventually.ts'
import { freshDatabase } from '../../support/postgres.ts'
import { micros, newId } from '../ledger/fixture.ts'
import { startStack, USDC } from '../payments/stack.ts'

export const OPENING = 1_000_000n
export const CREDITS = 'liabilities:agents:key_1:credits'
/** Fixed fees, so that the same call gives the same transaction after a reorganization. */
const FEES = { gas: '0x7a120', gasPrice: '0x2540be400' }
/** Contract that batches many calls into one transaction. */
const MULTICALL: Hex = '0xcA11bde05977b3631167028862bE2a173976CA11'
const SELLER: Hex = '0x00000000000000000000000000000000000005e1'

export type ReconciliationFixture = Awaited<ReturnType<typeof startFixture>>

/** Starts a consistent ledger and chain: a spend wallet with $1, an empty treasury. */
export async function startFixture({ finality = 1n, shards = 1 } = {}) {
  const database = await freshDatabase()
  const stack = await startStack()
  const { pool, admin } = database
  for (let shard = 1; shard < shards; shard++) {
    await pool.query('SELECT ledger.open_shard($1)', [shard])
  }
  const ledger = new Ledger(pool)
  const credits = await ledger.open(CREDITS, 'USDC', { home: shards - 1 })
  const treasury = stack.wallets.treasury.account.address
  const spend = stack.wallets.spend.account.address
  const payer = stack.wallets.agent.account.address
  await fund(stack.rpcUrl, spend, { usdc: OPENING })
  const block = String((await stack.chain.head()).number)
  const owner = await ledger.account(SPEND)
  const opening = { type: 'balance.opened', account: SPEND, amount: OPENING } as const
  await ledger.post(opening, { owner, id: newId(), meta: { block } })
  const ports = { pool, chain: stack.chain, finality, wallets: { treasury, spend } }

  /** Sends a transaction from any address; returns its hash when mined. */
  const transact = async (call: { from: Hex; to: Hex; data: Hex }): Promise<Hex> => {
    await stack.rpc('anvil_setBalance', call.from, '0xde0b6b3a7640000')
    await stack.rpc('anvil_impersonateAccount', call.from)
    const tx = await stack.rpc('eth_sendTransaction', { ...call, ...FEES })
    await eventually(async () => (await stack.rpc('eth_getTransactionReceipt', tx)) !== null)
    return tx as Hex
  }
  const send = (from: Hex, to: Hex, value: bigint): Promise<Hex> => {
    const { abi } = contracts.DevUSDC
    const data = encodeFunctionData({ abi, functionName: 'transfer', args: [to, value] })
    return transact({ from, to: USDC, data })
  }
  const post = (event: SingleStepEvent, meta: object = {}, id = newId()): Promise<string> =>
    ledger.post(event, { owner: credits, id, meta: { ...meta } }).then((outcome) => {
      if (outcome !== 'applied') throw new Error(`${event.type} ${outcome}`)
      return id
    })
  const purchased = (amount: bigint) =>
    ({ type: 'credits.purchased', credits: CREDITS, amount: micros(amount) }) as const
  return {
    database,
    stack,
    pool,
    admin,
    ledger,
    ports,
    send,
    post,
    purchased,
    payer,
    treasury,
    spend,
    seller: SELLER,
    /** Makes a purchase: the transfer, the entry, and later its confirmation. */
    async buy(amount: bigint, { confirmed = true } = {}) {
      const transaction = await send(payer, treasury, amount)
      const id = await post(purchased(amount), { payer, nonce: '0x1', transaction })
      const confirm = async () => {
        const owner = await ledger.account(walletOf('in-transit'))
        const event = { type: 'receipt.confirmed', amount: micros(amount) } as const
        await ledger.post(event, { owner, id, meta: { tx: transaction } })
      }
      if (confirmed) await confirm()
      return { id, tx: transaction, confirm }
    },
    /** Makes a payment to a seller that is charged and seen on chain. */
    async spendOn(amount: bigint) {
      const payee = await ledger.account('liabilities:x402-out:in-transit')
      const hold = { call: newId(), owner: credits }
      const terms = { amount, payee, commissionBps: 0, ttlSeconds: 60 }
      const { outcome } = await ledger.reserve({ ...hold, ...terms })
      if (outcome !== 'applied') throw new Error(outcome)
      await ledger.settle(hold, amount)
      const tx = await send(spend, SELLER, amount)
      const event = { type: 'external.confirmed', amount: micros(amount) } as const
      await post(event, { tx }, hold.call)
      return tx
    },
    /** Mines blocks and advances the chain's clock, so that earlier transfers are final. */
    async mine(blocks = 2) {
      await stack.rpc('evm_increaseTime', 10)
      await stack.rpc('anvil_mine', `0x${blocks.toString(16)}`)
    },
    /** Mints several transfers to the treasury in one transaction. */
    async sendTogether(amounts: readonly bigint[]): Promise<Hex> {
      const calls = amounts.map((amount) => ({
        target: USDC,
        callData: encodeFunctionData({
          abi: contracts.DevUSDC.abi,
          functionName: 'mint',
          args: [treasury, amount],
        }),
      }))
      const data = encodeFunctionData({
        abi: contracts.MiniMulticall3.abi,
        functionName: 'tryAggregate',
        args: [true, calls],
      })
      return transact({ from: payer, to: MULTICALL, data })
    },
    run: (options: ReconcileOptions = {}) => reconcile(ports, { skewSeconds: 0, ...options }),
    async stop() {
      await stack.stop()
      await database.drop()
    },
  }
}

/** Formats the open exceptions of a run as `kind amount`. */
export const exceptionTexts = (runs: readonly ReconciliationResult[]): string[] =>
  runs.flatMap(({ exceptions }) => exceptions.map(({ kind, amount }) => `${kind} ${amount}`))

/** Formats the pending items of a run as `what amount`. */
export const pendingTexts = (runs: readonly ReconciliationResult[]): string[] =>
  runs.flatMap(({ pending }) => pending.map(({ what, amount }) => `${what} ${amount}`))
