import { eip3009ABI } from '@x402/evm'
import { decodeFunctionResult, encodeFunctionData, parseAbi, parseSignature } from 'viem'
import type { Asset, Hex } from '../chain/asset.ts'
import { MULTICALL3 } from '../chain/identity.ts'
import type { ExactPayload } from '../receiving/transfer-fields.ts'
import type { Facilitator } from './facilitator.ts'
import type { ContractCall } from './sender.ts'

const ABI = parseAbi([
  'struct Call { address target; bytes callData; }',
  'struct Result { bool success; bytes returnData; }',
  'function tryAggregate(bool requireSuccess, Call[] calls) returns (Result[] results)',
])

/** A payment signed by a private key, with the arguments of `settle`. */
export interface KeyPayment {
  readonly args: Parameters<Facilitator['settle']>
  readonly authorization: ExactPayload['authorization']
  readonly signature: Hex
  /** Call of the token that makes the payment. */
  readonly callData: Hex
}

/**
 * Returns undefined for a payment that is handled alone: one signed by a contract wallet, which is
 * settled in its own transaction, or one that cannot be encoded, which must not affect others.
 */
export function parseKeyPayment(args: KeyPayment['args']): KeyPayment | undefined {
  const { authorization, signature } = args[0].payload as Partial<KeyPayment>
  if (!authorization || !signature || !/^0x[0-9a-fA-F]{130}$/.test(signature)) return undefined
  try {
    const callData = encodeTransfer(authorization, signature)
    return { args, authorization, signature, callData }
  } catch {
    return undefined
  }
}

/**
 * Call that makes all payments or none; USDC accepts them from any sender. A single payment calls
 * the token directly.
 */
export function atomicCall({ address }: Asset, payments: readonly KeyPayment[]): ContractCall {
  const [first, ...more] = payments
  if (first && more.length === 0) return { to: address, data: first.callData }
  return encodeMulticall(address, payments, true)
}

/** Call that makes every payment that can be made; `decodeResults` reads its results. */
export const independentCalls = (
  { address }: Asset,
  payments: readonly KeyPayment[],
): ContractCall => encodeMulticall(address, payments, false)

/** Returns in order whether each payment of `independentCalls` was made. */
export const decodeResults = (data: Hex): readonly boolean[] =>
  decodeFunctionResult({ abi: ABI, functionName: 'tryAggregate', data }).map((each) => each.success)

function encodeMulticall(target: Hex, payments: readonly KeyPayment[], all: boolean): ContractCall {
  const calls = payments.map(({ callData }) => ({ target, callData }))
  const data = encodeFunctionData({ abi: ABI, functionName: 'tryAggregate', args: [all, calls] })
  return { to: MULTICALL3, data }
}

/** @throws if a member is out of range or the signature is malformed */
function encodeTransfer(authorization: KeyPayment['authorization'], signature: Hex): Hex {
  const { from, to, nonce } = authorization
  const [value, after, before] = [
    authorization.value,
    authorization.validAfter,
    authorization.validBefore,
  ].map(BigInt) as [bigint, bigint, bigint]
  const { r, s, yParity } = parseSignature(signature)
  return encodeFunctionData({
    abi: eip3009ABI,
    functionName: 'transferWithAuthorization',
    args: [from, to, value, after, before, nonce, 27 + yParity, r, s],
  })
}
