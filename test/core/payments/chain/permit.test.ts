import { x402UptoPermit2ProxyAddress } from '@x402/evm'
import { expect } from 'chai'
import { numberToHex, pad, type TransactionReceipt, toEventSelector } from 'viem'
import { USDC_BASE } from '../../../../core/payments/chain/asset.ts'
import { findPermitOutcome, type Settlement } from '../../../../core/payments/chain/permit.ts'

const OWNER = '0x00000000000000000000000000000000000000aa'
const PAYEE = '0x00000000000000000000000000000000000000bb'
const CONTRACT = '0x00000000000000000000000000000000000000cc'
const PROXY = x402UptoPermit2ProxyAddress
const TIME = new Date('2026-11-28T12:00:00Z')
const hashOf = (n: number) => numberToHex(n, { size: 32 })

interface Transaction {
  readonly value: bigint
  readonly to: `0x${string}`
  /** Addresses of its logs. */
  readonly logs: readonly string[]
  readonly input?: string
}

/** Judges a used permit of 1,000 on a chain with these transactions of its owner to its payee. */
function outcomeOf(
  transactions: readonly Transaction[],
  isMaximum: boolean,
  others: readonly Settlement[] = [],
) {
  const logs = transactions.map(({ value }, n) => ({
    topics: [toEventSelector('Transfer(address,address,uint256)'), pad(OWNER), pad(PAYEE)],
    data: numberToHex(value, { size: 32 }),
    transactionHash: hashOf(n),
    blockNumber: numberToHex(10 + n),
    blockHash: hashOf(100 + n),
    logIndex: '0x0',
  }))
  const client = {
    readContract: async () => 1n << 7n,
    request: async ({ method, params }: { method: string; params: readonly unknown[] }) => {
      if (method === 'eth_getLogs') return logs
      return { input: '0x', ...transactions[Number(params[0])]! }
    },
  }
  const receiptOf = async (tx: `0x${string}`) => {
    const { to, logs: addresses } = transactions[Number(tx)]!
    return { to, logs: addresses.map((address) => ({ address })) } as unknown as TransactionReceipt
  }
  const permit = { owner: OWNER, payTo: PAYEE, nonce: hashOf(7), value: 1_000n, isMaximum } as const
  const settledOthers = async () => others
  const head = async () => ({ number: 50n, time: TIME })
  const search = { asset: USDC_BASE, fromBlock: 0n, logSpan: 100n, head, receiptOf }
  return findPermitOutcome(client as never, { ...permit, settledOthers }, search)
}

describe('A308 the outcome of a permit that is settled by a contract', () => {
  const settled = (value: bigint): Transaction => ({ value, to: CONTRACT, logs: [CONTRACT, PROXY] })

  it('is its transfer beside a log of the proxy', async () => {
    const other: Transaction = { value: 900n, to: CONTRACT, logs: [CONTRACT] }
    expect(await outcomeOf([other, settled(400n)], true)).to.include({
      outcome: 'used',
      tx: hashOf(1),
      value: 400n,
    })
  })
  it('is the largest of several transfers within the maximum', async () => {
    const found = await outcomeOf([settled(400n), settled(700n), settled(1_001n)], true)
    expect(found).to.include({ outcome: 'used', tx: hashOf(1), value: 700n })
  })
  it('is the one that names the permit, also beside larger ones', async () => {
    const named = { ...settled(400n), input: `0x1234${hashOf(7).slice(2)}56` }
    const found = await outcomeOf([settled(700n), named, settled(500n)], true)
    expect(found).to.include({ outcome: 'used', tx: hashOf(1), value: 400n })
  })
  it('excludes transfers that settled another permit, one each', async () => {
    const others = [{ tx: hashOf(0), value: 700n }]
    const found = await outcomeOf([settled(700n), settled(400n)], true, others)
    expect(found).to.include({ outcome: 'used', tx: hashOf(1), value: 400n })
    expect(await outcomeOf([settled(700n)], true, others)).to.include({ outcome: 'spent' })
  })
  it('is unknown for a payment that only an account of the hub can settle', async () => {
    expect(await outcomeOf([settled(400n)], false)).to.include({ outcome: 'spent' })
  })
})
