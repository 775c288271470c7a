import type { SettleResponse, VerifyResponse } from '@x402/core/types'
import { isAddressEqual, parseAbi, parseEventLogs } from 'viem'
import type { Asset, Hex } from '../chain/asset.ts'
import type { Facilitator } from './facilitator.ts'
import {
  atomicCall,
  decodeResults,
  independentCalls,
  type KeyPayment,
  parseKeyPayment,
} from './multicall.ts'
import type { Sender } from './sender.ts'

/** So many fit a block many times over. */
const BATCH_SIZE_MAX = 50
const ABI = parseAbi(['event AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce)'])

interface BatchDeps {
  readonly sender: Sender
  readonly asset: Asset
  /** Deals with one payment, and says what is wrong with it. */
  readonly single: Pick<Facilitator, 'verify' | 'settle'>
  readonly confirmationTimeoutMs: number
}

/**
 * Deals with payments that come at the same time by one request to the node, and by one
 * transaction. What comes while one is under way waits for the next; nothing waits for company.
 * Whatever is not plainly good is dealt with alone, which tells what is wrong with it: a bad
 * payment harms no other.
 */
export function batched(ports: BatchDeps): Required<Pick<Facilitator, 'batched'>>['batched'] {
  const { single: alone } = ports
  return {
    verify: inBatches(alone.verify, (batch) => verifyBatch(ports, batch)),
    settle: inBatches(alone.settle, (batch) => settleBatch(ports, batch)),
  }
}

type Args = KeyPayment['args']
/** What comes of each payment, as far as it is known when the next batch may go. */
type Responses<Answer> = readonly Promise<Answer>[]

/** @param work never throws */
function inBatches<Answer>(
  alone: (...args: Args) => Promise<Answer>,
  work: (batch: readonly KeyPayment[]) => Promise<Responses<Answer>>,
): (...args: Args) => Promise<Answer> {
  const waiting: { payment: KeyPayment; resolve: (answer: Promise<Answer>) => void }[] = []
  let working = false
  const run = async (): Promise<void> => {
    if (working) return
    working = true
    while (waiting.length > 0) {
      const batch = waiting.splice(0, BATCH_SIZE_MAX)
      const answers = await work(batch.map(({ payment }) => payment))
      for (const [i, { resolve }] of batch.entries()) resolve(answers[i]!)
    }
    working = false
  }
  return (...args) => {
    const payment = parseKeyPayment(args)
    if (!payment) return alone(...args)
    return new Promise((resolve) => {
      waiting.push({ payment, resolve })
      void run()
    })
  }
}

/** Has the node make all of the payments, in thought. */
async function verifyBatch(
  { sender: { client }, asset, single: alone }: BatchDeps,
  batch: readonly KeyPayment[],
): Promise<Responses<VerifyResponse>> {
  const { data = '0x' } = await client
    .call(independentCalls(asset, batch))
    .catch(() => ({ data: undefined }))
  const good = data === '0x' ? [] : decodeResults(data)
  return batch.map(async ({ args, authorization: { from: payer } }, i) =>
    good[i] ? { isValid: true, payer } : alone.verify(...args),
  )
}

/** If one is bad, the node refuses the whole before it is sent. */
async function settleBatch(
  ports: BatchDeps,
  batch: readonly KeyPayment[],
): Promise<Responses<SettleResponse>> {
  const { sender, asset, single: alone } = ports
  const signatures = batch.map(({ signature }) => signature)
  try {
    const tx = await sender.send(atomicCall(asset, batch), signatures)
    const used = usedAuthorizations(ports, tx)
    return batch.map((payment) => settlementOf(ports, payment, tx, used))
  } catch {
    return batch.map(({ args }) => alone.settle(...args))
  }
}

/** The authorizations that a transaction has used, by the token's word; undefined: not known. */
async function usedAuthorizations({ sender, asset, confirmationTimeoutMs }: BatchDeps, tx: Hex) {
  const receipt = await sender.receipt(tx, confirmationTimeoutMs).catch(() => undefined)
  if (!receipt) return undefined
  const logs = receipt.logs.filter(({ address }) => isAddressEqual(address, asset.address))
  const used = parseEventLogs({ abi: ABI, logs })
  return new Set(used.map(({ args }) => authorizationKey(args.authorizer, args.nonce)))
}

const authorizationKey = (payer: string, nonce: string): string => `${payer} ${nonce}`.toLowerCase()

async function settlementOf(
  { asset: { network }, single: alone }: BatchDeps,
  { args, authorization: { from: payer, nonce } }: KeyPayment,
  transaction: Hex,
  whenUsed: ReturnType<typeof usedAuthorizations>,
): Promise<SettleResponse> {
  const used = await whenUsed
  if (used === undefined) {
    return { success: false, errorReason: 'settlement_pending', transaction, network, payer }
  }
  if (used.has(authorizationKey(payer, nonce)))
    return { success: true, transaction, network, payer }
  return alone.settle(...args)
}
