import { expect } from 'chai'
import * as fc from 'fast-check'
import type { Pool } from 'pg'
import { Ledger } from '../../../../core/ledger/ledger.ts'
import { GAS } from '../../../../core/ledger/postings.ts'
import { createLog } from '../../../../core/log.ts'
import { usd } from '../../../../core/money.ts'
import type { Hex } from '../../../../core/payments/chain/asset.ts'
import {
  deductWholeGwei,
  postGasFees,
} from '../../../../core/payments/facilitators/gas-accounting.ts'
import { type GasWallet, readGasState } from '../../../../core/payments/facilitators/gas-wallet.ts'
import type { LocalFacilitator } from '../../../../core/payments/facilitators/local.ts'
import { accountGas } from '../../../../jobs/gas.ts'
import { fund } from '../../../../server/sandbox/wallets.ts'
import { eventually } from '../../../support/eventually.ts'
import { type FreshDatabase, freshDatabase } from '../../../support/postgres.ts'
import { type Stack, startStack } from '../stack.ts'
import { oneByOne, prepare, proxyNode, shop } from './fixture.ts'

const GWEI = 1_000_000_000n
const ETH_PRICE = usd('3000')

describe('the gas account in the ledger', () => {
  let stack: Stack
  let database: FreshDatabase
  let pool: Pool
  let ledger: Ledger
  let facilitator: LocalFacilitator
  before(async () => {
    stack = await startStack()
    database = await freshDatabase()
    ;({ pool } = database)
    ledger = new Ledger(pool)
    facilitator = stack.facilitatorWith({ pool })
  })
  after(async () => {
    await database.drop()
    await stack.stop()
  })

  const ports = () => {
    const { gas: wallet } = facilitator
    return { pool, ledger, finality: 1n, ethPrice: ETH_PRICE, wallet }
  }
  const settle = async (times = 1, by = facilitator): Promise<Hex[]> => {
    const payments = await Promise.all(Array.from({ length: times }, () => prepare(stack)))
    const ends = await Promise.all(
      payments.map((args) => shop(stack, oneByOne(by)).settle(...args)),
    )
    expect(ends.map(({ outcome }) => outcome)).to.deep.equal(Array(times).fill('settled'))
    return ends.map(({ tx }) => tx!)
  }
  /** Balance of a wallet on chain, in whole gwei. */
  const onChain = async (address = facilitator.address): Promise<bigint> =>
    BigInt(String(await stack.rpc('eth_getBalance', address, 'latest'))) / GWEI
  const inLedger = async (): Promise<bigint> => 0n - (await ledger.balance(GAS))
  const entries = async (txs: readonly Hex[]) =>
    (
      await database.admin.query(
        `SELECT j.meta ->> 'tx' AS tx, j.effective_at, j.amounts, j.meta FROM ledger.journal j
         JOIN ledger.kind k ON k.id = j.kind WHERE k.event = 'gas.paid'
           AND j.meta ->> 'tx' = ANY ($1)`,
        [txs],
      )
    ).rows as { tx: Hex; effective_at: Date; amounts: bigint[]; meta: { wei: string } }[]
  const storedCount = async (): Promise<number> =>
    Number((await pool.query('SELECT count(*) AS n FROM hub.sent_transaction')).rows[0].n)
  /** Ledger of a process that dies before or after it posts the first entry. */
  const dyingLedger = (after: boolean) =>
    ({
      account: (code: string) => ledger.account(code),
      post: async (...entry: Parameters<Ledger['post']>) => {
        if (after) await ledger.post(...entry)
        throw new Error('the process ends here')
      },
    }) as unknown as Ledger
  /** Fee according to the receipt, in wei. */
  const feeOf = async (tx: Hex): Promise<bigint> => {
    const receipt = (await stack.rpc('eth_getTransactionReceipt', tx)) as Record<string, Hex>
    return BigInt(receipt['gasUsed']!) * BigInt(receipt['effectiveGasPrice']!)
  }

  it('opens with the balance before the first transaction, also if one exists', async () => {
    const held = await onChain()
    const txs = await settle(3)
    expect(await postGasFees(ports())).to.equal(3)
    expect(await inLedger()).to.equal(await onChain())
    expect(await ledger.balance('equity:opening-eth')).to.equal(held)
    expect((await entries(txs)).length).to.equal(3)
  })

  it('equals the balance of the wallet to the gwei after every run', async () => {
    for (const times of [1, 5, 0, 7]) {
      await settle(times)
      await postGasFees(ports())
      expect(await inLedger()).to.equal(await onChain())
    }
    expect(await storedCount()).to.equal(0)
  })

  it('records fee, value and time of each transaction', async () => {
    const [tx = '0x'] = await settle()
    await postGasFees(ports())
    const [entry] = await entries([tx])
    const wei = await feeOf(tx)
    expect(entry?.meta.wei).to.equal(String(wei))
    expect(entry?.amounts).to.include((wei * ETH_PRICE) / 10n ** 18n)
    const receipt = (await stack.rpc('eth_getTransactionReceipt', tx)) as { blockNumber: Hex }
    const block = await stack.chain.block(BigInt(receipt.blockNumber))
    expect(entry?.effective_at).to.deep.equal(block?.time)
  })

  it('includes failed transactions, which cost gas too', async () => {
    const [payment, requirement] = await prepare(stack)
    const twice = [1, 2].map(() => stack.facilitatorWith({ pool, confirmationTimeoutMs: 3_000 }))
    await stack.rpc('evm_setIntervalMining', 0)
    await stack.rpc('evm_setAutomine', false)
    // In another notation the same payment is a different one to the outbox.
    const { payload } = payment
    if (!('authorization' in payload)) throw new Error('not an authorization')
    const { authorization } = payload
    const notation = { ...authorization, validBefore: `0${authorization.validBefore}` }
    const other = { ...payment, payload: { ...payload, authorization: notation } }
    const ends = [payment, other].map((each, i) => shop(stack, twice[i]!).settle(each, requirement))
    await eventually(async () => (await storedCount()) >= 2)
    await stack.rpc('evm_setAutomine', true)
    await stack.rpc('anvil_mine')
    const outcomes = (await Promise.all(ends)).map(({ outcome }) => outcome)
    expect(outcomes.toSorted()).to.deep.equal(['pending', 'settled'])
    expect(await postGasFees(ports())).to.equal(2)
    expect(await inLedger()).to.equal(await onChain())
  })

  it('posts each transaction once, wherever a run of the job dies', async () => {
    const txs = await settle(4)
    for (const after of [false, true, true]) {
      const run = postGasFees({ ...ports(), ledger: dyingLedger(after) })
      expect(await run.catch((error: Error) => error.message)).to.equal('the process ends here')
    }
    await postGasFees(ports())
    expect((await entries(txs)).length).to.equal(4)
    expect(await inLedger()).to.equal(await onChain())
  })

  it('states the price at which a fee was recorded, if the setting changes later', async () => {
    const [tx] = await settle()
    await postGasFees({ ...ports(), ledger: dyingLedger(false) }).catch(() => undefined)
    await postGasFees({ ...ports(), ethPrice: usd('9000') })
    const [entry] = await entries([tx!])
    expect(entry!.meta).to.include({ price: '3000.000000', price_source: 'HUB_ETH_PRICE' })
    const cost = (BigInt(entry!.meta.wei) * ETH_PRICE) / 10n ** 18n
    expect(entry!.amounts).to.include(cost)
  })

  it('counts each transaction once, also if another process counts it concurrently', async () => {
    const txs = await settle(8)
    const [requestArrived, go] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const slow = async (hash: Hex) => {
      requestArrived.resolve()
      await go.promise
      return facilitator.gas.fee(hash)
    }
    const late = postGasFees({ ...ports(), wallet: { ...facilitator.gas, fee: slow } })
    await requestArrived.promise
    await postGasFees({ ...ports(), ledger: dyingLedger(false) }).catch(() => {})
    go.resolve()
    await Promise.all([late, postGasFees(ports())])
    expect((await entries(txs)).length).to.equal(8)
    expect(await inLedger()).to.equal(await onChain())
    expect(await storedCount()).to.equal(0)
  })

  it('waits until a block is final', async () => {
    const txs = await settle()
    await postGasFees({ ...ports(), finality: 3n })
    expect(await entries(txs)).to.deep.equal([])
    await stack.rpc('anvil_mine', '0x2')
    await postGasFees({ ...ports(), finality: 3n })
    expect((await entries(txs)).length).to.equal(1)
  })

  it('includes what Base charges for its data on Ethereum', async () => {
    const l1Fee = 123_456_789_012n
    const node = await proxyNode(stack.rpcUrl, async ({ method, pass }) => {
      if (method !== 'eth_getTransactionReceipt') return undefined
      const { result } = await pass()
      return { result: result && { ...result, l1Fee: `0x${l1Fee.toString(16)}` } }
    })
    const [tx = '0x'] = await settle()
    const { gas } = stack.facilitatorWith({ pool, rpcUrl: node.url })
    expect((await gas.fee(tx))?.wei).to.equal((await feeOf(tx)) + l1Fee)
    node.close()
    await postGasFees(ports())
  })

  it('drops a transaction whose nonce another one used, because it cost nothing', async () => {
    await stack.rpc('evm_setAutomine', false)
    const slow = stack.facilitatorWith({ pool, confirmationTimeoutMs: 50 })
    const { tx } = await shop(stack, slow).settle(...(await prepare(stack)))
    await stack.rpc('anvil_dropTransaction', tx)
    await stack.rpc('evm_setAutomine', true)
    const age = (minutes: number) =>
      database.admin.query(
        'UPDATE hub.sent_transaction SET kept_at = now() - make_interval(mins => $1)',
        [minutes],
      )
    await age(61)
    await postGasFees(ports())
    expect(await storedCount()).to.equal(1) // its nonce is free: it may still be mined
    await settle()
    await age(59)
    expect(await postGasFees(ports())).to.equal(1)
    expect(await storedCount()).to.equal(1) // another node may have a block that this one lacks
    await age(61)
    await postGasFees(ports())
    expect(await storedCount()).to.equal(0)
    expect(await inLedger()).to.equal(await onChain())
  })

  it('carries fractions of a gwei, whatever the fees', () => {
    fc.assert(
      fc.property(fc.bigInt(0n, 10n ** 12n), fc.array(fc.bigInt(0n, 10n ** 11n)), (held, fees) => {
        let { rest, booked, wei } = { rest: held % GWEI, booked: held / GWEI, wei: held }
        for (const fee of fees.filter((_, i) => fees.slice(0, i + 1).reduce(sum, 0n) <= held)) {
          const whole = deductWholeGwei(fee, rest)
          ;({ rest } = whole)
          booked -= whole.gwei
          wei -= fee
          expect(booked).to.equal(wei / GWEI)
          expect(rest).to.equal(wei % GWEI)
        }
      }),
    )
  })

  describe('of a wallet with a low balance', () => {
    const lines: string[] = []
    const log = createLog('info', { write: (line) => lines.push(line) })
    const look = async (wallet: GasWallet, lowGwei: bigint) => {
      lines.length = 0
      const gas = { wallet, ethPrice: ETH_PRICE, lowGwei }
      await accountGas({ pool, ledger, finality: 1n, gas, log })
      const state = await readGasState(pool)
      return { state, alarms: lines.filter((line) => JSON.parse(line).level === 50) }
    }

    it('raises an alarm on every check until the balance suffices', async () => {
      const { gas } = facilitator
      const balance = await onChain()
      const enough = await look(gas, balance)
      expect(enough.alarms).to.deep.equal([])
      expect(enough.state).to.include({ low: false, balanceGwei: balance })
      expect(enough.state?.address.toLowerCase()).to.equal(gas.address.toLowerCase())
      for (const _ of [1, 2]) {
        const { state, alarms } = await look(gas, balance + 1n)
        expect(state?.low).to.equal(true)
        expect(alarms.length).to.equal(1)
        expect(alarms[0]).to.contain('the gas wallet is low').and.to.contain(gas.address)
      }
      expect((await look(gas, balance)).state?.low).to.equal(false)
    })

    it('raises the alarm also if posting fails', async () => {
      const broken = { ...ports(), gas: { wallet: facilitator.gas, ethPrice: ETH_PRICE } }
      lines.length = 0
      const refusing = { account: async () => Promise.reject(new Error('no books')) }
      await settle()
      const run = accountGas({
        ...broken,
        ledger: refusing as unknown as Ledger,
        gas: { ...broken.gas, lowGwei: 10n ** 18n },
        log,
      })
      expect(await run.catch((error: Error) => error.message)).to.equal('no books')
      expect(lines.join('')).to.contain('the gas wallet is low')
    })

    it('settles nothing if it is empty and reports that nothing was sent', async () => {
      const { address } = facilitator
      const held = BigInt(String(await stack.rpc('eth_getBalance', address, 'latest')))
      await fund(stack.rpcUrl, address, { wei: 0n })
      const before = await storedCount()
      const settled = await shop(stack, facilitator).settle(...(await prepare(stack)))
      expect(settled).to.include({ outcome: 'failed', reason: 'not_broadcast' })
      expect(await storedCount()).to.equal(before)
      await fund(stack.rpcUrl, address, { wei: held })
      await settle()
      await postGasFees(ports())
      expect(await inLedger()).to.equal(await onChain())
    })
  })
})

const sum = (a: bigint, b: bigint): bigint => a + b
