import { type PendingSettlementStore, x402Facilitator } from '@x402/core/facilitator'
import type { SettleResponse } from '@x402/core/types'
import { type FacilitatorEvmSigner, toFacilitatorEvmSigner } from '@x402/evm'
import { ExactEvmScheme } from '@x402/evm/exact/facilitator'
import { type Abi, concatHex, encodeFunctionData } from 'viem'
import { assetOf, type Hex } from '../asset.ts'
import { type Facilitator, FacilitatorUnavailable, NOT_BROADCAST } from '../facilitator.ts'
import type { Nonces } from './nonces.ts'
import { createSender, isRefusal, NotSent, type Sender } from './sender.ts'

export interface LocalFacilitatorOptions {
  readonly rpcUrl: string
  /** The gas wallet's private key. It pays fees and never touches the money that it moves. */
  readonly key: Hex
  readonly network: string
  /** How long `settle` waits for a receipt before it answers "pending". @defaultValue 10000 */
  readonly confirmationTimeoutMs?: number
  /** Between two looks for a receipt. @defaultValue 250 */
  readonly pollMs?: number
  /** For each request to the node. @defaultValue 5000 */
  readonly rpcTimeoutMs?: number
  /** Remembers transactions without a receipt; shared where several processes settle. */
  readonly pending?: PendingSettlementStore
  /** Transaction numbers; shared where several processes send with the key. */
  readonly nonces?: Nonces
}

/** A facilitator in this process, with a key of its own. */
export interface LocalFacilitator extends Facilitator {
  /** The gas wallet: it needs ETH. */
  readonly address: Hex
}

/**
 * Verifies and settles by our own node and key. `verify` throws `FacilitatorUnavailable` when the
 * node cannot be asked, instead of calling the payment invalid. `settle` answers
 * `settlement_pending` with the hash when no receipt came in time, and `not_broadcast` when it
 * failed before anything was sent.
 */
export function localFacilitator(options: LocalFacilitatorOptions): LocalFacilitator {
  const { network, confirmationTimeoutMs = 10_000, pending } = options
  const asset = assetOf(network)
  const sender = createSender({ ...options, asset })
  const node = watchNode(sender)
  const scheme = new ExactEvmScheme(
    toFacilitatorEvmSigner(node.signer, { confirmationTimeoutMs }),
    pending === undefined ? {} : { pendingSettlementStore: pending },
  )
  const facilitator = new x402Facilitator().register(asset.network, scheme)
  return {
    address: sender.address,
    async verify(payload, requirements) {
      const before = node.outages()
      const answer = await facilitator.verify(payload, requirements)
      if (!answer.isValid && node.outages() > before) {
        throw new FacilitatorUnavailable('The node did not answer while a payment was verified.')
      }
      return answer
    },
    async settle(payload, requirements) {
      const before = node.outages()
      const answer = await facilitator.settle(payload, requirements)
      const isOurs = !answer.success && !answer.transaction && node.outages() > before
      return isOurs ? notBroadcast(answer) : answer
    },
    getSupported: async () =>
      facilitator.getSupported() as Awaited<ReturnType<Facilitator['getSupported']>>,
  }
}

const notBroadcast = (answer: SettleResponse): SettleResponse => ({
  ...answer,
  errorReason: NOT_BROADCAST,
  errorMessage: 'The facilitator could not send the transaction.',
})

/**
 * The signer that the scheme works with. The scheme takes a node that cannot be asked for an
 * invalid signature or a failed simulation; counting such failures tells them apart. At worst a
 * neighbour's outage makes an invalid payment "try again".
 */
function watchNode({ address, client, send, receipt }: Sender) {
  let count = 0
  const watched = async <T>(work: Promise<T>): Promise<T> => {
    try {
      return await work
    } catch (error) {
      if (error instanceof NotSent || isOutage(error)) count++
      throw error
    }
  }
  const signer: Omit<FacilitatorEvmSigner, 'getAddresses'> & { address: Hex } = {
    address,
    readContract: ({ abi, args = [], ...call }) =>
      watched(client.readContract({ ...call, abi: abi as Abi, args })),
    verifyTypedData: (data) =>
      watched(client.verifyTypedData(data as Parameters<typeof client.verifyTypedData>[0])),
    getCode: (call) => watched(client.getCode(call)),
    writeContract: ({ address: to, abi, functionName, args, dataSuffix = '0x' }) => {
      const data = encodeFunctionData({ abi: abi as Abi, functionName, args })
      return watched(send({ to, data: concatHex([data, dataSuffix]) }))
    },
    sendTransaction: (call) => watched(send(call)),
    waitForTransactionReceipt: ({ hash, timeout = 0 }) => receipt(hash, timeout),
  }
  return { signer, outages: () => count }
}

const isOutage = (error: unknown): boolean =>
  !isRefusal(error) && /HttpRequestError|TimeoutError|WebSocketRequestError/.test(names(error))

const names = (error: unknown): string =>
  error instanceof Error ? `${error.name} ${names(error.cause)}` : ''
