import { expect } from 'chai'
import { encodeFunctionData, parseSignature } from 'viem'
import type { Hex } from '../../../../core/payments/chain/asset.ts'
import { USDC_BASE } from '../../../../core/payments/chain/asset.ts'
import { ChainUnavailable, openChain } from '../../../../core/payments/chain/chain.ts'
import { createSender } from '../../../../core/payments/facilitators/sender.ts'
import contracts from '../../../../server/sandbox/contracts/contracts.artifact.json' with {
  type: 'json',
}
import { authorize, DOMAIN, NETWORK, type Stack, startStack, USDC } from '../stack.ts'

const { abi } = contracts.DevUSDC

describe('the view of the chain', () => {
  let stack: Stack
  let sender: ReturnType<typeof createSender>
  before(async () => {
    stack = await startStack()
    const { rpcUrl, wallets } = stack
    const { account } = wallets.gas
    sender = createSender({ rpcUrl, account, asset: USDC_BASE, pollMs: 5 })
  })
  after(() => stack.stop())

  const run = async (functionName: string, args: unknown[]): Promise<Hex> => {
    const tx = await sender.send({
      to: USDC,
      data: encodeFunctionData({ abi, functionName, args }),
    })
    await sender.receipt(tx, 5_000)
    return tx
  }
  const pay = async (value: bigint) => {
    const { message, signature } = await authorize(stack.wallets.agent.account, {
      to: stack.payTo,
      value,
    })
    const { from, to, validAfter, validBefore, nonce } = message
    const { v, r, s } = parseSignature(signature)
    const args = [from, to, value, validAfter, validBefore, nonce, Number(v), r, s]
    const tx = await run('transferWithAuthorization', args)
    return { tx, token: USDC, from, to, value, nonce }
  }

  describe('evidence of a transfer', () => {
    it('confirms exactly the transfer and counts confirmations', async () => {
      const transfer = await pay(1_000n)
      const evidence = await stack.chain.transferEvidence(transfer)
      expect(evidence).to.include({ found: 'confirmed' })
      await stack.rpc('anvil_mine', '0x3')
      const later = await stack.chain.transferEvidence(transfer)
      if (evidence.found === 'missing' || later.found === 'missing') throw new Error('missing')
      expect(later.block).to.equal(evidence.block)
      expect(later.confirmations >= evidence.confirmations + 3n).to.equal(true)
    })
    it('accepts addresses in any case', async () => {
      const transfer = await pay(1_001n)
      const lower = { from: transfer.from.toLowerCase(), to: transfer.to.toLowerCase() }
      const found = await stack.chain.transferEvidence({
        ...transfer,
        ...(lower as typeof transfer),
      })
      expect(found.found).to.equal('confirmed')
    })
    it('reports an unknown transaction as missing', async () => {
      const transfer = { ...(await pay(1n)), tx: `0x${'7'.repeat(64)}` as const }
      expect(await stack.chain.transferEvidence(transfer)).to.deep.equal({ found: 'missing' })
    })
    it('distinguishes payer, recipient, amount, token and authorization', async () => {
      const transfer = await pay(1_002n)
      const other = stack.wallets.seller.account.address
      for (const change of [
        { from: other },
        { to: other },
        { value: 1_003n },
        { token: other },
        { nonce: `0x${'8'.repeat(64)}` as const },
      ]) {
        const { found } = await stack.chain.transferEvidence({ ...transfer, ...change })
        expect(found, JSON.stringify(Object.keys(change))).to.equal('mismatch')
      }
    })
    it('does not accept a failed transfer', async () => {
      const data = encodeFunctionData({ abi, functionName: 'transfer', args: [stack.payTo, 5n] })
      const from = sender.address
      const call = { from, to: USDC, data, gas: '0x30d40' }
      await stack.rpc('anvil_impersonateAccount', from)
      const tx = (await stack.rpc('eth_sendTransaction', call)) as Hex
      await sender.receipt(tx, 5_000)
      const transfer = { tx, token: USDC, from, to: stack.payTo, value: 5n }
      expect((await stack.chain.transferEvidence(transfer)).found).to.equal('mismatch')
    })
  })

  describe('an authorization', () => {
    it('is unused as of a block', async () => {
      const { message } = await authorize(stack.wallets.agent.account, {
        to: stack.payTo,
        value: 1n,
      })
      expect(await stack.chain.authorizationState(message.from, message.nonce)).to.equal(false)
      const { blockTime, at, ...rest } = (await stack.chain.authorizationOutcome(
        message.from,
        message.nonce,
        0n,
      )) as { blockTime: Date; at: bigint }
      expect(rest).to.deep.equal({ outcome: 'unused' })
      expect(at > 0n).to.equal(true)
      expect(blockTime.getTime() <= (await stack.chain.blockTime()).getTime()).to.equal(true)
    })
    it('is used by the transaction in the log, however old', async () => {
      const { rpcUrl, chain, rpc } = stack
      const { from, nonce, tx } = await pay(7n)
      await rpc('anvil_mine', '0x20')
      expect(await chain.authorizationState(from, nonce)).to.equal(true)
      for (const logSpan of [1n, 7n, 2_000n]) {
        const outcome = await openChain({ rpcUrl, network: NETWORK, logSpan }).authorizationOutcome(
          from,
          nonce,
          0n,
        )
        expect(outcome).to.include({ outcome: 'used', tx })
      }
    })
    it('is canceled, which differs from used', async () => {
      const { agent } = stack.wallets
      const nonce = `0x${'9'.repeat(64)}` as const
      const signature = await agent.account.signTypedData({
        domain: DOMAIN,
        types: {
          CancelAuthorization: [
            { name: 'authorizer', type: 'address' },
            { name: 'nonce', type: 'bytes32' },
          ],
        },
        primaryType: 'CancelAuthorization',
        message: { authorizer: agent.account.address, nonce },
      })
      const tx = await run('cancelAuthorization', [agent.account.address, nonce, signature])
      const outcome = await stack.chain.authorizationOutcome(agent.account.address, nonce, 0n)
      expect(outcome).to.include({ outcome: 'canceled', tx })
    })
    it('is not reported unused if it was used before the search range', async () => {
      const { from, nonce } = await pay(8n)
      const { number } = await stack.chain.head()
      const search = stack.chain.authorizationOutcome(from, nonce, number + 1n)
      expect(await search.catch((error: unknown) => error)).to.be.instanceOf(ChainUnavailable)
    })
  })

  it('reads balances, the time and the genesis block', async () => {
    const { chain, wallets } = stack
    const before = await chain.balanceOf(wallets.agent.account.address)
    await pay(11n)
    expect(await chain.balanceOf(wallets.agent.account.address)).to.equal(before - 11n)
    expect(await chain.genesis()).to.match(/^0x[0-9a-f]{64}$/)
    expect((await chain.head()).number > 0n).to.equal(true)
  })
  it('throws if the node does not respond', async () => {
    const dead = openChain({ rpcUrl: 'http://127.0.0.1:9', network: NETWORK, timeoutMs: 300 })
    const { payTo } = stack
    const nonce = `0x${'0'.repeat(64)}` as const
    for (const question of [
      () => dead.balanceOf(payTo),
      () => dead.blockTime(),
      () => dead.authorizationOutcome(payTo, nonce, 0n),
      () => dead.transferEvidence({ tx: nonce, token: USDC, from: payTo, to: payTo, value: 1n }),
    ]) {
      expect(await question().catch((error: unknown) => error)).to.be.instanceOf(ChainUnavailable)
    }
  })
})
