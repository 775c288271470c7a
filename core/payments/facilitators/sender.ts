import {
  BaseError,
  createPublicClient,
  ExecutionRevertedError,
  http,
  keccak256,
  RpcRequestError,
} from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { base } from 'viem/chains'
import { elapsedMs, sleep } from '../../clock.ts'
import type { Asset, Hex } from '../asset.ts'
import { memoryNonces, type Nonces } from './nonces.ts'

export interface SenderOptions {
  readonly rpcUrl: string
  /** Pays for gas; signs transactions and nothing else. */
  readonly key: Hex
  readonly asset: Asset
  /** Where several processes send with one key, a source that they share. */
  readonly nonces?: Nonces
  /** For each request to the node. @defaultValue 5000 */
  readonly rpcTimeoutMs?: number
  /** Between two looks for a receipt. @defaultValue 250 */
  readonly pollMs?: number
}

export interface Call {
  readonly to: Hex
  readonly data: Hex
}

/** Nothing left for the chain: what was to be sent cannot happen. */
export class NotSent extends Error {
  override readonly name = 'NotSent'
}

export type Sender = ReturnType<typeof createSender>

const GAS_MARGIN_PERCENT = 20n
/** Another process may have used the number: then the next one. */
const NONCE_TRIES = 3
const NONCE_USED = /nonce too low|nonce is too low|replacement transaction underpriced/i
const KNOWN = /already known|already imported|known transaction/i

/** Sends transactions from one key. Every request to the node has a time-out. */
export function createSender(options: SenderOptions) {
  const { rpcUrl, asset, rpcTimeoutMs = 5_000, pollMs = 250, nonces = memoryNonces() } = options
  const account = privateKeyToAccount(options.key)
  const { address } = account
  const client = connect(rpcUrl, rpcTimeoutMs)
  const count = () => client.getTransactionCount({ address, blockTag: 'pending' })

  /**
   * Signs and broadcasts a call, and answers its hash. Gas is estimated before a transaction
   * number is taken: a call that reverts uses none up, and leaves no gap that would hold back
   * all later ones (viem's `nonceManager` takes the number first).
   * @throws ExecutionRevertedError (wrapped by viem) when the call would revert, and NotSent
   *   when it was not broadcast for another reason. Doubt is no error: it answers the hash.
   */
  async function send(call: Call): Promise<Hex> {
    const prepared = await prepare(client, address, call)
    let sent: Hex | undefined
    try {
      await nonces.next(count, async (first) => {
        for (let nonce = first; ; nonce++) {
          const signed = await account.signTransaction({
            ...prepared,
            chainId: asset.chainId,
            nonce,
          })
          const refusal = await broadcast(client, signed)
          if (refusal === undefined) {
            sent = keccak256(signed)
            return nonce
          }
          if (!NONCE_USED.test(refusal.message) || nonce - first + 1 === NONCE_TRIES) throw refusal
        }
      })
    } catch (cause) {
      if (sent === undefined) throw new NotSent('the transaction was not sent', { cause })
    }
    return sent as Hex
  }

  return {
    address,
    client,
    send,
    /** @throws Error when there is no receipt within `timeoutMs`. */
    receipt: (hash: Hex, timeoutMs: number) => receipt(client, hash, timeoutMs, pollMs),
  }
}

type Client = ReturnType<typeof connect>

/** No retries: a transaction that is sent twice comes back as refused although it was taken. */
const connect = (rpcUrl: string, timeout: number) =>
  createPublicClient({
    chain: base,
    transport: http(rpcUrl, { timeout, retryCount: 0 }),
    cacheTime: 0,
  })

async function prepare(client: Client, account: Hex, call: Call) {
  try {
    const [gas, { maxFeePerGas, maxPriorityFeePerGas }] = await Promise.all([
      client.estimateGas({ account, ...call }),
      client.estimateFeesPerGas(),
    ])
    const limit = gas + (gas * GAS_MARGIN_PERCENT) / 100n
    return { ...call, type: 'eip1559' as const, gas: limit, maxFeePerGas, maxPriorityFeePerGas }
  } catch (error) {
    throw isRevert(error) ? error : new NotSent('no gas or fees from the node', { cause: error })
  }
}

/** The node's refusal. Undefined: it took the transaction, or may have taken it. */
const broadcast = (client: Client, serializedTransaction: Hex): Promise<Error | undefined> =>
  client.sendRawTransaction({ serializedTransaction }).then(
    () => undefined,
    (error: Error) => (isRefusal(error) && !KNOWN.test(error.message) ? error : undefined),
  )

async function receipt(client: Client, hash: Hex, timeoutMs: number, pollMs: number) {
  const deadline = elapsedMs() + timeoutMs
  for (;;) {
    const found = await client.getTransactionReceipt({ hash }).catch(() => undefined)
    if (found !== undefined) return found
    if (elapsedMs() + pollMs > deadline) {
      throw new Error(`no receipt of ${hash} within ${timeoutMs} ms`)
    }
    await sleep(pollMs)
  }
}

const walk = (error: unknown, is: (cause: unknown) => boolean): boolean =>
  error instanceof BaseError && error.walk(is) !== null

/** Whether the node answered, and refused. Anything else is a node that could not be asked. */
export const isRefusal = (error: unknown): boolean =>
  walk(error, (cause) => cause instanceof RpcRequestError)

const isRevert = (error: unknown): boolean =>
  walk(error, (cause) => cause instanceof ExecutionRevertedError)
