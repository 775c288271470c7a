import type { SettleResponse, VerifyResponse } from '@x402/core/types'
import { elapsedMs } from '../../clock.ts'
import type { Asset, Hex } from '../chain/asset.ts'
import { tokenEventsIn } from '../chain/transfer-logs.ts'
import type { BatchedFacilitator, Facilitator } from './facilitator.ts'
import {
  atomicCall,
  decodeResults,
  independentCalls,
  type KeyPayment,
  parseKeyPayment,
} from './multicall.ts'
import { outboxKey } from './outbox-key.ts'
import type { PreparedCall, Sender } from './sender.ts'

/** A block holds many times as many. */
const BATCH_SIZE_MAX = 50

interface BatchDeps {
  readonly sender: Sender
  readonly asset: Asset
  /** Handles one payment and reports what is wrong with it. */
  readonly single: Pick<Facilitator, 'verify' | 'settle'>
  readonly confirmationTimeoutMs: number
}

/**
 * Verifies concurrent payments by one request to the node and settles them by one transaction.
 * Payments that arrive while a batch is in flight form the next one; there is no timer. A payment
 * that does not pass in the batch is handled alone, which reports its fault: a bad payment never
 * affects others.
 */
export function batched(deps: BatchDeps): BatchedFacilitator {
  const { single, sender, asset } = deps
  let prepared: PreparedPayment | undefined
  const verifying = inBatches(single.verify, (batch) => verifyBatch(deps, batch))
  const settling = inBatches(single.settle, (batch) => {
    const call = preparedFor(batch, prepared)
    prepared = undefined
    return settleBatch(deps, batch, call)
  })
  return {
    verify: verifying.handle,
    settle: settling.handle,
    prepare(...args) {
      if (!settling.isIdle() || isFresh(prepared)) return // others will be in its batch
      const payment = parseKeyPayment(args)
      if (!payment) return
      const call = sender.prepare(atomicCall(asset, [payment]))
      call.catch(() => {}) // the payment is then settled alone, which reports its fault
      prepared = { payload: args[0].payload, call, atMs: elapsedMs() }
    },
  }
}

/** Payment whose settlement in a transaction of its own is prepared. */
interface PreparedPayment {
  readonly payload: Args[0]['payload']
  readonly call: Promise<PreparedCall>
  readonly atMs: number
}

/** Age up to which a prepared settlement is sent, as fees and balances change. */
const PREPARED_MS = 1_000

const isFresh = (prepared: PreparedPayment | undefined): prepared is PreparedPayment =>
  prepared !== undefined && elapsedMs() - prepared.atMs <= PREPARED_MS

type Args = KeyPayment['args']
/** Response for each payment, possibly still pending when the next batch starts. */
type Responses<Result> = readonly Promise<Result>[]

interface Batches<Result> {
  readonly handle: (...args: Args) => Promise<Result>
  /** Returns true if the next payment begins a batch. */
  readonly isIdle: () => boolean
}

function inBatches<Result>(
  alone: (...args: Args) => Promise<Result>,
  work: (batch: readonly KeyPayment[]) => Promise<Responses<Result>>,
): Batches<Result> {
  const queue: { payment: KeyPayment; resolve: (response: Promise<Result>) => void }[] = []
  let isRunning = false
  const run = async (): Promise<void> => {
    if (isRunning) return
    isRunning = true
    while (queue.length > 0) {
      const batch = queue.splice(0, BATCH_SIZE_MAX)
      try {
        const responses = await work(batch.map(({ payment }) => payment))
        for (const [i, { resolve }] of batch.entries()) resolve(responses[i]!)
      } catch (error) {
        for (const { resolve } of batch) resolve(Promise.reject(error))
      }
    }
    isRunning = false
  }
  const handle = (...args: Args): Promise<Result> => {
    const payment = parseKeyPayment(args)
    if (!payment) return alone(...args)
    return new Promise((resolve) => {
      queue.push({ payment, resolve })
      void run()
    })
  }
  return { handle, isIdle: () => !isRunning }
}

/** Simulates all payments on the node. */
async function verifyBatch(
  { sender: { client }, asset, single }: BatchDeps,
  batch: readonly KeyPayment[],
): Promise<Responses<VerifyResponse>> {
  const good = await client.call(independentCalls(asset, batch)).then(
    ({ data = '0x' }) => tryDecode(data),
    () => [],
  )
  return batch.map(async ({ args, authorization: { from: payer } }, i) =>
    good[i] ? { isValid: true, payer } : single.verify(...args),
  )
}

/** Returns nothing for malformed data, so that each payment is verified alone. */
function tryDecode(data: Hex): readonly boolean[] {
  try {
    return decodeResults(data)
  } catch {
    return []
  }
}

/** Settles the batch by one transaction. The node refuses it before sending if one is bad. */
async function settleBatch(
  deps: BatchDeps,
  batch: readonly KeyPayment[],
  prepared: Promise<PreparedCall> | undefined,
): Promise<Responses<SettleResponse>> {
  const { sender, asset, single } = deps
  const keys = batch.flatMap(({ args: [payment] }) => outboxKey(payment) ?? [])
  try {
    const tx = await sender.send(atomicCall(asset, batch), keys, prepared)
    const used = usedAuthorizations(deps, tx)
    return batch.map((payment) => settlementOf(deps, payment, tx, used))
  } catch {
    return batch.map(({ args }) => single.settle(...args))
  }
}

function preparedFor(
  [payment, ...others]: readonly KeyPayment[],
  prepared: PreparedPayment | undefined,
): Promise<PreparedCall> | undefined {
  const isThis = others.length === 0 && prepared?.payload === payment?.args[0].payload
  return isThis && isFresh(prepared) ? prepared.call : undefined
}

/** Reads from the token's logs which authorizations a transaction used; undefined if unknown. */
async function usedAuthorizations({ sender, asset, confirmationTimeoutMs }: BatchDeps, tx: Hex) {
  const receipt = await sender.receipt(tx, confirmationTimeoutMs).catch(() => undefined)
  if (!receipt) return undefined
  const used = tokenEventsIn(receipt.logs, asset.address).filter((event) => event.is !== 'transfer')
  return new Set(used.map(({ payer, nonce }) => authorizationKey(payer, nonce)))
}

const authorizationKey = (payer: string, nonce: string): string => `${payer} ${nonce}`.toLowerCase()

async function settlementOf(
  { asset: { network }, single }: BatchDeps,
  { args, authorization: { from: payer, nonce } }: KeyPayment,
  transaction: Hex,
  usage: ReturnType<typeof usedAuthorizations>,
): Promise<SettleResponse> {
  const used = await usage
  if (used === undefined) {
    return { success: false, errorReason: 'settlement_pending', transaction, network, payer }
  }
  if (used.has(authorizationKey(payer, nonce)))
    return { success: true, transaction, network, payer }
  return single.settle(...args)
}
