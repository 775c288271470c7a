import {
  BaseError,
  createPublicClient,
  ExecutionRevertedError,
  keccak256,
  type LocalAccount,
  RpcRequestError,
} from 'viem'
import { base } from 'viem/op-stack'
import { elapsedMs, sleep } from '../../clock.ts'
import { isDatabaseDown } from '../../outages.ts'
import type { Asset, Hex } from '../chain/asset.ts'
import { type NodeTransport, trustedNode } from '../chain/node.ts'
import { type BroadcastResult, memoryOutbox, type Outbox, type OutboxCall } from './outbox.ts'

/** Address and signer of the gas wallet. */
export type GasAccount = Pick<LocalAccount, 'address' | 'signTransaction'>

export interface SenderOptions {
  readonly rpcUrl: string
  /** Connections to the node. @defaultValue those to `rpcUrl`, without a proof of its chain */
  readonly transport?: NodeTransport
  /** Account that pays for gas and signs transactions only. */
  readonly account: GasAccount
  readonly asset: Asset
  /** Assigns nonces. @defaultValue `memoryOutbox()`, for a single process */
  readonly outbox?: Outbox
  /** Limit per request to the node. @defaultValue 5000 */
  readonly rpcTimeoutMs?: number
  /** Interval between polls for a receipt, after the first few. @defaultValue 250 */
  readonly pollMs?: number
}

export interface ContractCall {
  readonly to: Hex
  readonly data: Hex
}

/** Nothing was sent to the chain, so the call cannot happen. */
export class NotSent extends Error {
  override readonly name = 'NotSent'
}

export type Sender = ReturnType<typeof createSender>

const GAS_MARGIN_PERCENT = 20n
const NONCE_USED_ERROR = /nonce too low|nonce is too low|replacement transaction underpriced/i
/** JSON-RPC error codes; the second is that of EIP-1474. */
const INTERNAL_ERROR = -32_603
const LIMIT_EXCEEDED = -32_005
const KNOWN_TRANSACTION = /already known|already imported|known transaction/i

/** Sends transactions from one key. Every request to the node has a timeout. */
export function createSender(options: SenderOptions) {
  const { account, rpcUrl, asset, pollMs = 250, outbox = memoryOutbox() } = options
  const { address } = account
  const client = connect(options.transport ?? trustedNode(rpcUrl), options.rpcTimeoutMs ?? 5_000)
  const prepare = (call: ContractCall) => prepareCall(client, address, call)

  /**
   * Signs and broadcasts a call and returns its hash, also if the broadcast result is unknown.
   * Estimates gas before taking a nonce, so a call that reverts leaves no gap that would block
   * later ones (viem's `nonceManager` takes the nonce first).
   * @param payments the payments it settles; a pending one is not sent again
   * @param preparing the same call, if it is being prepared
   * @throws ExecutionRevertedError (wrapped by viem) if the call would revert
   * @throws NotSent if it was not broadcast for another reason
   * @throws Error of the database if it is unknown whether it was stored
   */
  async function send(
    call: ContractCall,
    payments: readonly string[] = [],
    preparing = prepare(call),
  ): Promise<Hex> {
    const prepared = { ...(await preparing), chainId: asset.chainId }
    const outboxCall: OutboxCall = {
      countTransactions: () => client.getTransactionCount({ address, blockTag: 'pending' }),
      async sign(nonce) {
        const raw = await account.signTransaction({ ...prepared, nonce })
        return { nonce, raw, hash: keccak256(raw) }
      },
      broadcast: ({ raw }) => broadcast(client, raw),
    }
    try {
      return (await outbox.send(outboxCall, payments)).hash
    } catch (cause) {
      if (isDatabaseDown(cause)) throw cause // it may be stored: then the next sender sends it
      throw new NotSent('the transaction was not sent', { cause })
    }
  }

  return {
    address,
    client,
    /**
     * Asks the node for gas and fees, and sends nothing.
     * @throws as `send` for a call that would revert, or that cannot be sent
     */
    prepare,
    send,
    /** Sends the pending transaction of a payment again, as `sendAgain`. */
    underWay: (payment: string) => sendAgain(client, outbox, payment),
    /** @throws Error when there is no receipt within `timeoutMs`. */
    receipt: async (hash: Hex, timeoutMs: number) => {
      const found = await waitForReceipt(client, hash, timeoutMs, pollMs)
      outbox.markMined(hash)
      return found
    },
  }
}

type Client = ReturnType<typeof connect>

/**
 * Finds the pending transaction of a payment and sends it again, in case the node lost it.
 * @throws NotSent if that cannot be found out
 */
async function sendAgain(
  client: Client,
  outbox: Outbox,
  payment: string,
): Promise<Hex | undefined> {
  const sent = await outbox.findPending(payment).catch((cause: unknown) => {
    throw new NotSent('the outbox did not respond', { cause })
  })
  if (sent) await broadcast(client, sent.raw)
  return sent?.hash
}

/** Fee cap, not the fee paid: a cap too low would block all later transactions. */
const FEE_OPTIONS = { baseFeeMultiplier: 2 }

/** Retries are off: a transaction sent twice is refused although it was accepted. */
const connect = (transport: NodeTransport, timeout: number) =>
  createPublicClient({
    chain: { ...base, fees: FEE_OPTIONS },
    transport: transport({ timeout, retryCount: 0 }),
    cacheTime: 0,
  })

/** A call with its limits of gas and fees. */
export interface PreparedCall extends ContractCall {
  readonly type: 'eip1559'
  readonly gas: bigint
  readonly maxFeePerGas: bigint
  readonly maxPriorityFeePerGas: bigint
}

async function prepareCall(
  client: Client,
  account: Hex,
  call: ContractCall,
): Promise<PreparedCall> {
  try {
    const [gas, { maxFeePerGas, maxPriorityFeePerGas }] = await Promise.all([
      client.estimateGas({ account, ...call }),
      client.estimateFeesPerGas(),
    ])
    const limit = gas + (gas * GAS_MARGIN_PERCENT) / 100n
    return { ...call, type: 'eip1559', gas: limit, maxFeePerGas, maxPriorityFeePerGas }
  } catch (error) {
    throw isRevert(error) ? error : new NotSent('no gas or fees from the node', { cause: error })
  }
}

const broadcast = (client: Client, serializedTransaction: Hex): Promise<BroadcastResult> =>
  client.sendRawTransaction({ serializedTransaction }).then(
    () => ({ is: 'accepted' }),
    (error: Error) => {
      if (!isRefusal(error) || hasCause(error, isUncertain)) return { is: 'unknown' }
      if (KNOWN_TRANSACTION.test(error.message)) return { is: 'accepted' }
      return { is: 'refused', isNonceUsed: NONCE_USED_ERROR.test(error.message), error }
    },
  )

/** Shortens the first wait, because some chains mine a block at once. */
const FIRST_POLL_DIVISOR = 8

async function waitForReceipt(client: Client, hash: Hex, timeoutMs: number, pollMs: number) {
  const deadline = elapsedMs() + timeoutMs
  for (let wait = pollMs / FIRST_POLL_DIVISOR; ; wait = Math.min(2 * wait, pollMs)) {
    const found = await client.getTransactionReceipt({ hash }).catch(() => undefined)
    if (found !== undefined) return found
    if (elapsedMs() + wait > deadline) {
      throw new Error(`no receipt of ${hash} within ${timeoutMs} ms`)
    }
    await sleep(wait)
  }
}

const hasCause = (error: unknown, is: (cause: unknown) => boolean): boolean =>
  error instanceof BaseError && error.walk(is) !== null

/** Returns true if the node responded with a refusal; any other error is an unreachable node. */
export const isRefusal = (error: unknown): boolean =>
  hasCause(error, (cause) => cause instanceof RpcRequestError)

/** Returns true for the error of a gateway or a failing node, which leaves the result unknown. */
const isUncertain = (cause: unknown): boolean =>
  cause instanceof RpcRequestError &&
  (cause.code === INTERNAL_ERROR || /time[d ]*-?out/i.test(cause.message))

/** Returns true if the node responded with a failure of its own, which says nothing of the call. */
export const isNodeFailure = (error: unknown): boolean =>
  hasCause(
    error,
    (cause) =>
      isUncertain(cause) || (cause instanceof RpcRequestError && cause.code === LIMIT_EXCEEDED),
  )

/** Returns true if a call would revert, so that it was not sent. */
export const isRevert = (error: unknown): boolean =>
  hasCause(error, (cause) => cause instanceof ExecutionRevertedError)
