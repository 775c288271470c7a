import type { SettleResponse, VerifyResponse } from '@x402/core/types'
import { isAddressEqual, parseAbi, parseEventLogs } from 'viem'
import type { Asset, Hex } from '../chain/asset.ts'
import { allOf, eachOf, type KeyPayment, keyPayment, outcomesOf } from './batch-calls.ts'
import type { Facilitator } from './facilitator.ts'
import type { Sender } from './sender.ts'

/** So many fit a block many times over. */
const BATCH_MAX = 50
const ABI = parseAbi(['event AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce)'])

interface Ports {
  readonly sender: Sender
  readonly asset: Asset
  /** Deals with one payment, and says what is wrong with it. */
  readonly alone: Pick<Facilitator, 'verify' | 'settle'>
  readonly confirmationTimeoutMs: number
}

/**
 * Deals with payments that come at the same time by one request to the node, and by one
 * transaction. What comes while one is under way waits for the next; nothing waits for company.
 * Whatever is not plainly good is dealt with alone, which tells what is wrong with it: a bad
 * payment harms no other.
 */
export function together(ports: Ports): Required<Pick<Facilitator, 'together'>>['together'] {
  const { alone } = ports
  return {
    verify: inBatches(alone.verify, (batch) => verifyAll(ports, batch)),
    settle: inBatches(alone.settle, (batch) => settleAll(ports, batch)),
  }
}

type Args = KeyPayment['args']
/** What comes of each payment, as far as it is known when the next batch may go. */
type Answers<Answer> = readonly Promise<Answer>[]

/** @param work never throws */
function inBatches<Answer>(
  alone: (...args: Args) => Promise<Answer>,
  work: (batch: readonly KeyPayment[]) => Promise<Answers<Answer>>,
): (...args: Args) => Promise<Answer> {
  const waiting: { payment: KeyPayment; resolve: (answer: Promise<Answer>) => void }[] = []
  let working = false
  const run = async (): Promise<void> => {
    if (working) return
    working = true
    while (waiting.length > 0) {
      const batch = waiting.splice(0, BATCH_MAX)
      const answers = await work(batch.map(({ payment }) => payment))
      for (const [i, { resolve }] of batch.entries()) resolve(answers[i]!)
    }
    working = false
  }
  return (...args) => {
    const payment = keyPayment(args)
    if (!payment) return alone(...args)
    return new Promise((resolve) => {
      waiting.push({ payment, resolve })
      void run()
    })
  }
}

/** Has the node make all of the payments, in thought. */
async function verifyAll(
  { sender: { client }, asset, alone }: Ports,
  batch: readonly KeyPayment[],
): Promise<Answers<VerifyResponse>> {
  const { data = '0x' } = await client.call(eachOf(asset, batch)).catch(() => ({ data: undefined }))
  const good = data === '0x' ? [] : outcomesOf(data)
  return batch.map(async ({ args, authorization: { from: payer } }, i) =>
    good[i] ? { isValid: true, payer } : alone.verify(...args),
  )
}

/** If one is bad, the node refuses the whole before it is sent. */
async function settleAll(
  ports: Ports,
  batch: readonly KeyPayment[],
): Promise<Answers<SettleResponse>> {
  const { sender, asset, alone } = ports
  const signatures = batch.map(({ signature }) => signature)
  try {
    const tx = await sender.send(allOf(asset, batch), signatures)
    const used = usedBy(ports, tx)
    return batch.map((payment) => settled(ports, payment, tx, used))
  } catch {
    return batch.map(({ args }) => alone.settle(...args))
  }
}

/** The authorizations that a transaction has used, by the token's word; undefined: not known. */
async function usedBy({ sender, asset, confirmationTimeoutMs }: Ports, tx: Hex) {
  const receipt = await sender.receipt(tx, confirmationTimeoutMs).catch(() => undefined)
  if (!receipt) return undefined
  const logs = receipt.logs.filter(({ address }) => isAddressEqual(address, asset.address))
  const used = parseEventLogs({ abi: ABI, logs })
  return new Set(used.map(({ args }) => keyOf(args.authorizer, args.nonce)))
}

const keyOf = (payer: string, nonce: string): string => `${payer} ${nonce}`.toLowerCase()

async function settled(
  { asset: { network }, alone }: Ports,
  { args, authorization: { from: payer, nonce } }: KeyPayment,
  transaction: Hex,
  whenUsed: ReturnType<typeof usedBy>,
): Promise<SettleResponse> {
  const used = await whenUsed
  if (used === undefined) {
    return { success: false, errorReason: 'settlement_pending', transaction, network, payer }
  }
  if (used.has(keyOf(payer, nonce))) return { success: true, transaction, network, payer }
  return alone.settle(...args)
}
