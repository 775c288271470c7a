import { type PendingSettlementStore, x402Facilitator } from '@x402/core/facilitator'
import type { SettleResponse } from '@x402/core/types'
import { type FacilitatorEvmSigner, toFacilitatorEvmSigner } from '@x402/evm'
import { ExactEvmScheme } from '@x402/evm/exact/facilitator'
import type { Pool } from 'pg'
import { type Abi, concatHex, encodeFunctionData } from 'viem'
import { privateKeyToAddress } from 'viem/accounts'
import { type Asset, assetOf, type Hex } from '../chain/asset.ts'
import { batched } from './batched.ts'
import { type Facilitator, FacilitatorUnavailable, NOT_BROADCAST } from './facilitator.ts'
import { type GasWallet, gasWallet } from './gas-wallet.ts'
import { createSender, isRefusal, NotSent, type Sender } from './sender.ts'
import { createStoredOutbox } from './stored-outbox.ts'

export interface LocalFacilitatorOptions {
  readonly rpcUrl: string
  /** The gas wallet's private key. It pays fees and never touches the money that it moves. */
  readonly key: Hex
  readonly network: string
  /**
   * Where transactions are kept: then several processes may send with the key, none is lost by a
   * crash, and gas can be booked. At least two connections, migrated before the first payment.
   * Left out: the memory of this process.
   */
  readonly pool?: Pool
  /** How long `settle` waits for a receipt before it answers "pending". @defaultValue 10000 */
  readonly confirmationTimeoutMs?: number
  /** Between two looks for a receipt, after the first few. @defaultValue 250 */
  readonly pollMs?: number
  /** For each request to the node. @defaultValue 5000 */
  readonly rpcTimeoutMs?: number
}

/** A facilitator in this process, with a key of its own. */
export interface LocalFacilitator extends Facilitator {
  /** The gas wallet: it needs ETH. */
  readonly address: Hex
  readonly gas: GasWallet
}

/**
 * Verifies and settles by our own node and key. `verify` throws `FacilitatorUnavailable` when the
 * node cannot be asked, instead of calling the payment invalid. `settle` answers
 * `settlement_pending` with the hash when no receipt came in time, and `not_broadcast` when it
 * failed before anything was sent, as with an empty gas wallet.
 */
export function localFacilitator(options: LocalFacilitatorOptions): LocalFacilitator {
  const asset = assetOf(options.network)
  const sender = createSender({ ...options, asset, ...outboxOf(options, asset) })
  const { confirmationTimeoutMs = 10_000 } = options
  const attempt = (payment?: string) => createAttempt(sender, asset, confirmationTimeoutMs, payment)
  const settle: Facilitator['settle'] = async (payload, requirements) => {
    const { facilitator, node } = attempt(readSignature(payload))
    const answer = await facilitator.settle(payload, requirements)
    const isOurs = !answer.success && !answer.transaction && node.failed
    return isOurs ? asNotBroadcast(answer) : answer
  }
  const verify: Facilitator['verify'] = async (payload, requirements) => {
    const { facilitator, node } = attempt()
    const answer = await facilitator.verify(payload, requirements)
    if (!answer.isValid && node.failed) {
      throw new FacilitatorUnavailable('The node did not answer while a payment was verified.')
    }
    return answer
  }
  return {
    address: sender.address,
    gas: gasWallet(sender, asset.chainId),
    verify,
    settle,
    batched: batched({ sender, asset, single: { verify, settle }, confirmationTimeoutMs }),
    getSupported: async () =>
      attempt().facilitator.getSupported() as Awaited<ReturnType<Facilitator['getSupported']>>,
  }
}

function outboxOf({ pool, key }: LocalFacilitatorOptions, { chainId }: Asset) {
  if (pool === undefined) return {}
  return { outbox: createStoredOutbox(pool, { chainId, address: privateKeyToAddress(key) }) }
}

/** What the scheme knows a payment by. */
const readSignature = ({ payload }: Parameters<Facilitator['settle']>[0]): string | undefined =>
  typeof payload['signature'] === 'string' ? payload['signature'] : undefined

const asNotBroadcast = (answer: SettleResponse): SettleResponse => ({
  ...answer,
  errorReason: NOT_BROADCAST,
  errorMessage: 'The facilitator could not send the transaction.',
})

/**
 * A facilitator for one verification or settlement. The scheme takes a node that cannot be asked
 * for an invalid signature or a failed simulation; `node.failed` tells them apart.
 */
function createAttempt(
  sender: Sender,
  { network }: Asset,
  confirmationTimeoutMs: number,
  of?: string,
) {
  const node = { failed: false }
  const watched = async <T>(work: Promise<T>): Promise<T> => {
    try {
      return await work
    } catch (error) {
      if (error instanceof NotSent || isOutage(error)) node.failed = true
      throw error
    }
  }
  const signer = toFacilitatorEvmSigner(createSigner(sender, watched, of), {
    confirmationTimeoutMs,
  })
  const scheme = new ExactEvmScheme(signer, { pendingSettlementStore: pendingStore(sender) })
  return { facilitator: new x402Facilitator().register(network, scheme), node }
}

function createSigner(
  { address, client, send, receipt }: Sender,
  watched: <T>(work: Promise<T>) => Promise<T>,
  payment?: string,
): Omit<FacilitatorEvmSigner, 'getAddresses'> & { address: Hex } {
  return {
    address,
    readContract: ({ abi, args = [], ...call }) =>
      watched(client.readContract({ ...call, abi: abi as Abi, args })),
    verifyTypedData: (data) =>
      watched(client.verifyTypedData(data as Parameters<typeof client.verifyTypedData>[0])),
    getCode: (call) => watched(client.getCode(call)),
    writeContract: ({ address: to, abi, functionName, args, dataSuffix = '0x' }) => {
      const data = encodeFunctionData({ abi: abi as Abi, functionName, args })
      const call = { to, data: concatHex([data, dataSuffix]) }
      return watched(send(call, payment === undefined ? [] : [payment]))
    },
    sendTransaction: (call) => watched(send(call)),
    waitForTransactionReceipt: ({ hash, timeout = 0 }) => receipt(hash, timeout),
  }
}

/**
 * Payments under way, as the scheme asks for them. It would note a hash only after it has waited
 * for the receipt, and forget it while it waits again; the outbox keeps it from before the
 * transaction leaves until its receipt is seen, and needs neither.
 */
const pendingStore = ({ underWay }: Sender): PendingSettlementStore => ({
  get: underWay,
  set: async () => {},
  delete: async () => {},
})

const isOutage = (error: unknown): boolean =>
  !isRefusal(error) && /HttpRequestError|TimeoutError|WebSocketRequestError/.test(errorNames(error))

const errorNames = (error: unknown): string =>
  error instanceof Error ? `${error.name} ${errorNames(error.cause)}` : ''
