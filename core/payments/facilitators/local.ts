import { type PendingSettlementStore, x402Facilitator } from '@x402/core/facilitator'
import type { SettleResponse } from '@x402/core/types'
import {
  type FacilitatorEvmSigner,
  toFacilitatorEvmSigner,
  x402UptoPermit2ProxyAddress,
} from '@x402/evm'
import { ExactEvmScheme } from '@x402/evm/exact/facilitator'
import { UptoEvmScheme } from '@x402/evm/upto/facilitator'
import type { Pool } from 'pg'
import { type Abi, concatHex, encodeFunctionData, isAddressEqual } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { elapsedMs, sleep, systemClock } from '../../clock.ts'
import { isDatabaseDown } from '../../outages.ts'
import { type Asset, assetOf, type Hex } from '../chain/asset.ts'
import type { NodeTransport } from '../chain/node.ts'
import { batched } from './batched.ts'
import { type Facilitator, FacilitatorUnavailable, NOT_BROADCAST } from './facilitator.ts'
import { type GasWallet, gasWallet } from './gas-wallet.ts'
import { outboxKey } from './outbox-key.ts'
import { approvePermit2 } from './permit2-approval.ts'
import {
  createSender,
  type GasAccount,
  isNodeFailure,
  isRefusal,
  isRevert,
  NotSent,
  type Sender,
} from './sender.ts'
import { createStoredOutbox } from './stored-outbox.ts'

export interface LocalFacilitatorOptions {
  readonly rpcUrl: string
  /** Connections to the node. @defaultValue those to `rpcUrl`, without a proof of its chain */
  readonly transport?: NodeTransport
  /** Key or signer of the gas wallet, which pays fees and never holds the transferred money. */
  readonly key: Hex | GasAccount
  readonly network: string
  /**
   * Database that stores transactions, so that several processes can share the key, no transaction
   * is lost by a crash and gas can be posted. Needs at least two connections and the migrations.
   * Default: the memory of this process.
   */
  readonly pool?: Pool
  /** Time that `settle` waits for a receipt before it returns "pending". @defaultValue 10000 */
  readonly confirmationTimeoutMs?: number
  /** Interval between polls for a receipt, after the first few. @defaultValue 250 */
  readonly pollMs?: number
  /** Limit per request to the node. @defaultValue 5000 */
  readonly rpcTimeoutMs?: number
}

/** Facilitator in this process with its own key. */
export interface LocalFacilitator extends Facilitator {
  /** Address of the gas wallet, which needs ETH. */
  readonly address: Hex
  readonly gas: GasWallet
}

/**
 * Verifies and settles with the hub's own node and key. If the node fails, `verify` throws
 * `FacilitatorUnavailable` instead of calling the payment invalid. `settle` returns
 * `settlement_pending` with the hash if no receipt arrives in time, and `not_broadcast` if it fails
 * before anything is sent, for example with an empty gas wallet.
 */
export function localFacilitator(options: LocalFacilitatorOptions): LocalFacilitator {
  const asset = assetOf(options.network)
  const account = typeof options.key === 'string' ? privateKeyToAccount(options.key) : options.key
  const outbox = outboxOf(options.pool, asset, account)
  const sender = createSender({ ...options, account, asset, ...outbox })
  const { confirmationTimeoutMs = 10_000 } = options
  const attempt = (payment?: string) => createAttempt(sender, asset, confirmationTimeoutMs, payment)
  const settle: Facilitator['settle'] = (payload, requirements) =>
    untilKnown(confirmationTimeoutMs, async () => {
      const { facilitator, node } = attempt(outboxKey(payload))
      const response = await facilitator.settle(payload, requirements).catch((error: unknown) => {
        node.failed = true
        return unsentResponse(asset, error)
      })
      if (response.success || response.transaction) return { response, is: 'sent' }
      if (node.unknown) return { response, is: 'unknown' }
      if (node.failed) return { response: asNotBroadcast(response), is: 'unsent' }
      const errorReason = node.refused ? REVERTS : response.errorReason
      return { response: { ...response, ...(errorReason && { errorReason }) }, is: 'refused' }
    })
  const verify: Facilitator['verify'] = async (payload, requirements) => {
    const { facilitator, node } = attempt()
    const response = await facilitator.verify(payload, requirements)
    if (!response.isValid && node.failed) {
      throw new FacilitatorUnavailable('The node did not respond during verification.')
    }
    return response
  }
  return {
    address: sender.address,
    uptoSettler: sender.address,
    gas: gasWallet(sender, asset.chainId),
    approvePermit2: (wallet) => approvePermit2(sender, asset, wallet, systemClock),
    verify,
    settle,
    batched: batched({ sender, asset, single: { verify, settle }, confirmationTimeoutMs }),
    getSupported: async () =>
      attempt().facilitator.getSupported() as Awaited<ReturnType<Facilitator['getSupported']>>,
  }
}

function outboxOf(pool: Pool | undefined, { chainId }: Asset, { address }: GasAccount) {
  return pool === undefined ? {} : { outbox: createStoredOutbox(pool, { chainId, address }) }
}

interface SettleAttempt {
  readonly response: SettleResponse
  /** `unknown`: its transaction may be stored, and then the next sender sends it. */
  readonly is: 'sent' | 'unknown' | 'unsent' | 'refused'
}

const RETRY_MS = 250

/**
 * Settles again if the database was lost while it stored the transaction, because the next sender
 * may come after the payment has expired. The outbox sends one transaction per payment, so that a
 * repetition finds the stored one or sends the only one.
 * @returns the response that leaves the outcome open if the database does not return in time
 */
async function untilKnown(
  timeoutMs: number,
  attempt: () => Promise<SettleAttempt>,
): Promise<SettleResponse> {
  const first = await attempt()
  if (first.is !== 'unknown') return first.response
  const deadline = elapsedMs() + timeoutMs
  while (elapsedMs() < deadline) {
    await sleep(RETRY_MS)
    const { response, is } = await attempt()
    if (is === 'sent') return response
    if (is === 'refused') break // it must not be sent a second time
  }
  return first.response
}

/** Reason of the scheme `upto` for a permit that the proxy does not accept. */
const REVERTS = 'permit2_simulation_failed'

/** Response of an attempt that failed before it sent anything. @throws other errors */
function unsentResponse({ network }: Asset, error: unknown): SettleResponse {
  if (!(error instanceof NotSent)) throw error
  return asNotBroadcast({ success: false, transaction: '', network })
}

const asNotBroadcast = (response: SettleResponse): SettleResponse => ({
  ...response,
  errorReason: NOT_BROADCAST,
  errorMessage: 'The facilitator could not send the transaction.',
})

/**
 * Creates a facilitator for one payment; `node.failed` tells outages from invalid signatures,
 * `node.refused` is true if the settlement of a permit would revert, so that it was not sent, and
 * `node.unknown` if it is unknown whether its transaction was stored, which is not sent. After an
 * outage it asks the node nothing more, because each request could take as long again.
 */
function createAttempt(
  sender: Sender,
  asset: Asset,
  confirmationTimeoutMs: number,
  payment?: string,
) {
  const node = { failed: false, refused: false, unknown: false }
  const watch = async <T>(work: () => Promise<T>): Promise<T> => {
    if (node.failed) throw new FacilitatorUnavailable('The node did not respond.')
    try {
      return await work()
    } catch (error) {
      if (error instanceof NotSent || isOutage(error)) node.failed = true
      if (isDatabaseDown(error)) node.unknown = true
      throw error
    }
  }
  const onRevert = (): void => void (node.refused = true)
  const signer = toFacilitatorEvmSigner(createSigner(sender, asset, { watch, payment, onRevert }), {
    confirmationTimeoutMs,
  })
  const store = { pendingSettlementStore: pendingStore(sender, payment) }
  const facilitator = new x402Facilitator()
    .register(asset.network, new ExactEvmScheme(signer, store))
    .register(asset.network, new UptoEvmScheme(signer, store))
  return { facilitator, node }
}

/** Stands for the code of the asset, of which the scheme only checks that it exists. */
const CONTRACT_CODE: Hex = '0xfe'

interface SignerOptions {
  readonly watch: <T>(work: () => Promise<T>) => Promise<T>
  /** Key of the payment to settle; undefined if it is to be verified. */
  readonly payment: string | undefined
  /** Called if the settlement of a permit would revert. */
  readonly onRevert: () => void
}

function createSigner(
  { address, client, send, receipt }: Sender,
  asset: Asset,
  { watch, payment, onRevert }: SignerOptions,
): Omit<FacilitatorEvmSigner, 'getAddresses'> & { address: Hex } {
  return {
    address,
    // From its own address, because the proxy of `upto` accepts no other sender. A settlement is
    // not simulated: the scheme would simulate the maximum, and `send` estimates gas for the usage.
    readContract: async ({ abi, args = [], ...call }) =>
      payment !== undefined && isPermitCall(call)
        ? undefined
        : watch(() => client.readContract({ ...call, account: address, abi: abi as Abi, args })),
    verifyTypedData: (data) =>
      watch(() => client.verifyTypedData(data as Parameters<typeof client.verifyTypedData>[0])),
    // Never rejects: the scheme starts this request and does not wait for it after a failure. The
    // asset is known to be a contract, and other addresses are those of payers.
    getCode: async (call) =>
      isAddressEqual(call.address, asset.address)
        ? CONTRACT_CODE
        : watch(() => client.getCode(call)).catch(() => undefined),
    writeContract: ({ address: to, abi, functionName, args, dataSuffix = '0x' }) => {
      const data = encodeFunctionData({ abi: abi as Abi, functionName, args })
      const call = { to, data: concatHex([data, dataSuffix]) }
      return watch(() => send(call, payment === undefined ? [] : [payment])).catch((error) => {
        if (isRevert(error) && isPermitCall({ address: to })) onRevert()
        throw error
      })
    },
    sendTransaction: (call) => watch(() => send(call)),
    waitForTransactionReceipt: ({ hash, timeout = 0 }) => receipt(hash, timeout),
  }
}

const isPermitCall = ({ address }: { readonly address: Hex }): boolean =>
  isAddressEqual(address, x402UptoPermit2ProxyAddress)

/**
 * Store of pending payments for the scheme, backed by the outbox. The scheme would store a hash
 * only after waiting for the receipt and drop it while waiting again; the outbox has it from before
 * the transaction is sent until its receipt is seen, so `set` and `delete` do nothing. The scheme
 * asks by signature, and the outbox is asked by `outboxKey`.
 */
const pendingStore = (
  { underWay }: Sender,
  payment: string | undefined,
): PendingSettlementStore => ({
  get: async () => (payment === undefined ? undefined : underWay(payment)),
  set: async () => {},
  delete: async () => {},
})

const isOutage = (error: unknown): boolean =>
  isNodeFailure(error) ||
  (!isRefusal(error) &&
    /HttpRequestError|TimeoutError|WebSocketRequestError|WrongChain/.test(errorNames(error)))

const errorNames = (error: unknown): string =>
  error instanceof Error ? `${error.name} ${errorNames(error.cause)}` : ''
