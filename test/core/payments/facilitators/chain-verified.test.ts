import type { ServerResponse } from 'node:http'
import { expect } from 'chai'
import { encodeFunctionData, parseAbi, parseSignature } from 'viem'
import { type Hex, USDC_BASE } from '../../../../core/payments/chain/asset.ts'
import { openChain } from '../../../../core/payments/chain/chain.ts'
import { createSender } from '../../../../core/payments/facilitators/sender.ts'
import contracts from '../../../../server/sandbox/contracts/contracts.artifact.json' with {
  type: 'json',
}
import { authorizationOf } from '../../../support/authorization.ts'
import { authorize, header, NETWORK, type Stack, USDC } from '../stack.ts'
import { prepare, SALE, shop } from './fixture.ts'
import { answer, pays, type Services, startServices } from './mock-services.ts'

const MULTICALL3 = '0xcA11bde05977b3631167028862bE2a173976CA11'
const OTHER_TOKEN = '0x00000000000000000000000000000000000000b0'
const abi = contracts.DevUSDC.abi

describe('a facilitator over HTTP that lies', () => {
  let services: Services
  let stack: Stack
  let sender: ReturnType<typeof createSender>
  before(async () => {
    services = await startServices()
    ;({ stack } = services)
    const { rpcUrl, wallets } = stack
    const { account } = wallets.gas
    sender = createSender({ rpcUrl, account, asset: USDC_BASE, pollMs: 10 })
  })
  after(() => services.stop())
  beforeEach(() => {
    services.lines.length = 0
  })
  const buy: Services['buy'] = (...args) => services.buy(...args)
  const really: Services['really'] = (args) => services.really(args)
  const errors = () => services.lines.filter(({ level }) => level === 50)
  const isOpen = (settled: { readonly outcome: string; readonly tx?: Hex }, tx?: Hex): void => {
    expect(settled.outcome).to.equal('pending')
    expect(settled.tx).to.equal(tx)
  }

  /** Sends a call with the gas wallet and waits for its receipt. */
  const run = async (to: Hex, data: Hex): Promise<Hex> => {
    const tx = await sender.send({ to, data })
    await sender.receipt(tx, 5_000)
    return tx
  }
  type Authorized = Awaited<ReturnType<typeof authorize>>
  const transferCall = ({ message, signature }: Authorized): Hex => {
    const { from, to, value, validAfter, validBefore, nonce } = message
    const { v, r, s } = parseSignature(signature)
    const args = [from, to, value, validAfter, validBefore, nonce, Number(v), r, s]
    return encodeFunctionData({ abi, functionName: 'transferWithAuthorization', args })
  }
  const authorized = (to: Hex, value: bigint, nonce?: Hex) =>
    authorize(stack.wallets.agent.account, { to, value, ...(nonce && { nonce }) })

  it('is not logged if it is true', async () => {
    let tx = ''
    const settled = await buy(async (res, args) => {
      tx = await really(args)
      pays(res, tx)
    })
    expect(settled).to.include({ outcome: 'settled', tx })
    expect(services.lines).to.deep.equal([])
  })

  describe('is not trusted if it reports success', () => {
    it('without a transaction', async () => {
      const settled = await buy((res) => pays(res, ''))
      isOpen(settled)
    })
    it('with an unknown transaction', async () => {
      const tx: Hex = `0x${'a'.repeat(64)}`
      isOpen(await buy((res) => pays(res, tx)), tx)
    })
    it('with a transaction of another payment of the same payer and price', async () => {
      const tx = await really(await prepare(stack))
      const settled = await buy((res) => pays(res, tx))
      isOpen(settled)
      expect(errors().map(({ facilitator }) => facilitator)).to.deep.equal(['liar.test'])
    })
    const others: Record<string, { readonly value?: bigint; readonly to?: Hex }> = {
      amount: { value: SALE.amount - 1n },
      payee: { to: '0x00000000000000000000000000000000000000c0' },
    }
    for (const [what, terms] of Object.entries(others)) {
      it(`with a transaction of another ${what} and the same nonce`, async () => {
        const args = await prepare(stack)
        const { nonce } = authorizationOf(args[0].payload)
        const other = { to: stack.payTo, value: SALE.amount, ...terms }
        const tx = await run(USDC, transferCall(await authorized(other.to, other.value, nonce)))
        const settled = await buy((res) => pays(res, tx), args)
        isOpen(settled)
        expect(errors().length).to.equal(1)
      })
    }
    it('with a transaction of another token', async () => {
      await stack.rpc('anvil_setCode', OTHER_TOKEN, contracts.DevUSDC.deployed)
      const args = [sender.address, SALE.amount]
      await run(OTHER_TOKEN, encodeFunctionData({ abi, functionName: 'mint', args }))
      const move = [stack.payTo, SALE.amount]
      const data = encodeFunctionData({ abi, functionName: 'transfer', args: move })
      const tx = await run(OTHER_TOKEN, data)
      expect((await buy((res) => pays(res, tx))).outcome).to.equal('pending')
      expect(errors().length).to.equal(1)
    })
    it('with the transfer of another authorization in the same transaction', async () => {
      const { offers } = stack
      const { required } = offers.offer(SALE)
      const nonce: Hex = `0x${'b'.repeat(64)}`
      const shown = await authorized(stack.payTo, SALE.amount, nonce)
      const spent = await authorized(stack.wallets.agent.account.address, SALE.amount, nonce)
      const elsewhere = await authorized(stack.payTo, SALE.amount)
      const calls = [elsewhere, spent].map((each) => [USDC, transferCall(each)] as const)
      const aggregate = parseAbi([
        'function tryAggregate(bool, (address target, bytes callData)[]) payable',
      ])
      const subcalls = calls.map(([target, callData]) => ({ target, callData }))
      const args = [true, subcalls] as const
      const data = encodeFunctionData({ abi: aggregate, functionName: 'tryAggregate', args })
      const tx = await run(MULTICALL3, data)
      const payment = offers.read(header(required, shown))
      const settled = await buy((res) => pays(res, tx), [payment, offers.requirements(SALE)])
      isOpen(settled)
      expect(errors().length).to.equal(1)
    })
    it('while the chain is unavailable', async () => {
      const chain = openChain({ rpcUrl: 'http://127.0.0.1:9', network: NETWORK, timeoutMs: 100 })
      let tx: Hex | undefined
      const { url } = await services.service(async (res, args) => {
        tx ??= await really(args)
        pays(res, tx)
      })
      const offers = shop(stack, services.watched(url, chain))
      const settled = await offers.settle(...(await prepare(stack)))
      isOpen(settled, tx)
    })
  })

  describe('does not undo a payment found on the chain', () => {
    const lies: Record<string, (res: ServerResponse) => unknown> = {
      'reports failure': (res) => answer(res, { errorReason: 'invalid_payload' }),
      'reports that another party was first': (res) =>
        answer(res, { errorReason: 'invalid_exact_evm_nonce_already_used' }),
      'reports pending': (res) => answer(res, { errorReason: 'settlement_pending' }),
      'names another transaction': (res) => pays(res, `0x${'c'.repeat(64)}`),
      'drops the connection': (res) => res.socket?.destroy(),
      'returns 500': (res) => answer(res, { errorReason: 'unexpected_error' }, 500),
      'returns 500 with a refusal': (res) => answer(res, { errorReason: 'invalid_payload' }, 500),
      'returns invalid JSON': (res) => res.end('{"success": tru'),
      'responds for another network': (res) =>
        answer(res, { success: true, network: 'eip155:1', transaction: `0x${'d'.repeat(64)}` }),
    }
    for (const [what, lie] of Object.entries(lies)) {
      it(`if it settles and ${what}`, async () => {
        let tx = ''
        const settled = await buy(async (res, args) => {
          tx ||= await really(args)
          lie(res)
        })
        expect(settled).to.include({ outcome: 'settled', tx })
        expect(services.lines.map(({ facilitator }) => facilitator)).to.deep.equal(['liar.test'])
      })
    }
    it('if another party settled it first', async () => {
      const args = await prepare(stack)
      const [{ payload }] = args
      const { validAfter, validBefore, value, ...rest } = authorizationOf(payload)
      const times = { validAfter: BigInt(validAfter), validBefore: BigInt(validBefore) }
      const message = { ...rest, ...times, value: BigInt(value) }
      const tx = await run(USDC, transferCall({ message, signature: payload.signature }))
      const settled = await buy(async (res, order) => {
        answer(res, await stack.facilitator.settle(...order))
      }, args)
      expect(settled).to.include({ outcome: 'settled', tx })
    })
    it('if it is mined shortly after the response', async () => {
      const args = await prepare(stack)
      const settled = await buy((res, order) => {
        void really(order)
        res.socket?.destroy()
      }, args)
      expect(settled.outcome).to.equal('settled')
    })
  })
})
