import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import {
  type Abi,
  concat,
  createWalletClient,
  encodeFunctionData,
  type Hex,
  http,
  publicActions,
  serializeErc6492Signature,
} from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { base } from 'viem/chains'
import { callRpc } from '../../server/sandbox/rpc.ts'
import { ask, expectProblem } from '../support/ask.ts'
import { useHub } from '../support/suite.ts'

const FILE = new URL('../support/contracts/contracts.artifact.json', import.meta.url)
const { abi, bytecode } = (
  JSON.parse(readFileSync(FILE, 'utf8')) as Record<'WalletFactory', { abi: Abi; bytecode: Hex }>
).WalletFactory

describe('wallets that are contracts register', () => {
  const hub = useHub({ config: { contractWallets: true } })
  const owner = privateKeyToAccount(generatePrivateKey())
  const node = () =>
    createWalletClient({
      account: owner,
      chain: base,
      transport: http(hub().sandbox!.rpcUrl),
    }).extend(publicActions)
  let factory: Hex
  let wallet: Hex
  before(async () => {
    const ether = `0x${(10n ** 18n).toString(16)}`
    await callRpc(hub().sandbox!.rpcUrl, 'anvil_setBalance', [owner.address, ether])
    const hash = await node().deployContract({ abi, bytecode })
    const { contractAddress } = await node().waitForTransactionReceipt({ hash })
    factory = contractAddress!
    wallet = (await node().readContract({
      address: factory,
      abi,
      functionName: 'addressOf',
      args: [owner.address],
    })) as Hex
  })

  /** Signature in the contract's format: one word and the owner's signature. */
  const signatureOf = async (message: string, by = owner): Promise<Hex> =>
    concat([`0x${'00'.repeat(32)}`, await by.signMessage({ message })])
  const undeployed = (signature: Hex): Hex =>
    serializeErc6492Signature({
      address: factory,
      data: encodeFunctionData({ abi, functionName: 'make', args: [owner.address] }),
      signature,
    })
  async function challenge(): Promise<{ nonce: string; message: string }> {
    const { body } = await ask(hub().url, `/v1/register/challenge?wallet_address=${wallet}`)
    return body as { nonce: string; message: string }
  }
  const register = (nonce: string, signature: Hex, wallet_address: string = wallet) =>
    ask(hub().url, '/v1/register', { body: { nonce, signature, wallet_address } })

  it('before they are on the chain (ERC-6492), which changes nothing there', async () => {
    const { nonce, message } = await challenge()
    expectProblem(await register(nonce, await signatureOf(message)), 401, 'invalid_signature')
    const stranger = privateKeyToAccount(generatePrivateKey())
    const stolen = undeployed(await signatureOf(message, stranger))
    expectProblem(await register(nonce, stolen), 401, 'invalid_signature')
    const { status, body } = await register(nonce, undeployed(await signatureOf(message)))
    expect([status, body['wallet_address']]).to.deep.equal([201, wallet])
    expect(await node().getCode({ address: wallet }), 'it is still not there').to.equal(undefined)
  })

  it('when they are on the chain (ERC-1271), as the same principal', async () => {
    const { request } = await node().simulateContract({
      address: factory,
      abi,
      functionName: 'make',
      args: [owner.address],
    })
    await node().waitForTransactionReceipt({ hash: await node().writeContract(request) })
    const { nonce, message } = await challenge()
    const other = await challenge()
    expectProblem(await register(nonce, await signatureOf(other.message)), 401, 'invalid_signature')
    const response = await register(nonce, await signatureOf(message))
    expect(response.status, response.text).to.equal(201)
    const { rows } = await hub().hub.pool.query(
      `SELECT count(DISTINCT p.id)::integer AS principals, count(*)::integer AS keys
       FROM hub.principal p JOIN hub.api_key k ON k.principal = p.id WHERE p.wallet_address = $1`,
      [wallet.toLowerCase()],
    )
    expect(rows).to.deep.equal([{ principals: 1, keys: 2 }])
    expectProblem(await register(nonce, await signatureOf(message)), 409, 'nonce_used')
  })

  it('ordinary wallets as before, and nobody by the signature of a contract’s owner', async () => {
    const plain = privateKeyToAccount(generatePrivateKey())
    const { body } = await ask(hub().url, '/v1/register/challenge')
    const { nonce, message } = body as { nonce: string; message: string }
    const signature = await plain.signMessage({ message })
    expectProblem(await register(nonce, signature), 401, 'invalid_signature')
    expect((await register(nonce, signature, plain.address)).status).to.equal(201)
  })

  it('what is no signature of a contract either is refused without asking', async () => {
    const { nonce } = await challenge()
    expectProblem(await register(nonce, `0x${'00'.repeat(64)}`), 422, 'validation_failed')
    expectProblem(await register(nonce, `0x${'00'.repeat(8_193)}`), 422, 'validation_failed')
  })
})

describe('wallets that are contracts', () => {
  const hub = useHub()

  it('do not register where the operator did not allow it', async () => {
    const account = privateKeyToAccount(generatePrivateKey())
    const { body } = await ask(hub().url, '/v1/register/challenge')
    const order = {
      nonce: body['nonce'],
      wallet_address: account.address,
      signature: `0x${'11'.repeat(200)}`,
    }
    const response = await ask(hub().url, '/v1/register', { body: order })
    expect([response.status, response.body['code']]).to.deep.equal([422, 'validation_failed'])
  })
})
