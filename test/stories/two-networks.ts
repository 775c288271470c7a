import { encodePaymentSignatureHeader } from '@x402/core/http'
import type { PaymentRequired, PaymentRequirements } from '@x402/core/types'
import { ExactEvmScheme } from '@x402/evm/exact/client'
import { x402Client } from '@x402/fetch'
import { defineService, s, usd } from 'agenthub/plugin'
import { expect } from 'chai'
import { encodeFunctionData, parseAbi } from 'viem'
import type { PrivateKeyAccount } from 'viem/accounts'
import { type Asset, assetOf, type Hex } from '../../core/payments/chain/asset.ts'
import { TRANSFER_TYPES } from '../../core/payments/chain/authorization.ts'
import { resolveNetworkPayments, resolvePayments } from '../../core/payments/operations/resolve.ts'
import { reconcile } from '../../core/reconciliation/reconcile.ts'
import { callRpc } from '../../server/sandbox/rpc.ts'
import { fund } from '../../server/sandbox/wallets.ts'
import { type ApiResponse, ask } from '../support/ask.ts'
import { eventually } from '../support/eventually.ts'
import type { TestHub } from '../support/hub.ts'

const ABI = parseAbi(['function transfer(address to, uint256 value)'])

export const POLYGON = assetOf('eip155:137')
export const PRICE = usd('0.002')
export const NETWORKS = { networks: [POLYGON.network] }

let done = 0
/** Number of times that the endpoint has worked. */
export const timesDone = (): number => done
export const works = defineService({
  slug: 'works',
  name: 'Works',
  category: 'test',
  summary: 'Works at a fixed price.',
  provider: 'example',
  endpoints: {
    'POST /once': {
      summary: 'Works.',
      input: s.object({}),
      price: PRICE,
      handle: async () => ({ done: ++done }),
    },
  },
})

/** One network of a hub, as a payer and its treasurer see it. */
export function side(hub: () => TestHub, asset: Asset) {
  const name = asset.v1Network
  const rpcUrl = () =>
    asset === POLYGON ? hub().sandbox!.networks[0]!.rpcUrl : hub().sandbox!.rpcUrl
  const parts = () => {
    const { paymentDeps } = hub().hub
    return asset === POLYGON ? paymentDeps.networks![0]! : { ...paymentDeps, asset }
  }
  const balance = (wallet: string) => hub().hub.ledger.balance(`assets:usdc:${name}:${wallet}`)
  return {
    rpcUrl,
    rpc: (method: string, ...params: unknown[]) => callRpc(rpcUrl(), method, params),
    chain: () => parts().chain,
    fund: (account: PrivateKeyAccount, usdc = usd('10')) =>
      fund(rpcUrl(), account.address, { usdc }, asset.address),
    /** Transfers USDC from any address. Returns the hash of the transaction when it is mined. */
    async transfer(from: Hex, to: Hex, value: bigint): Promise<Hex> {
      const rpc = (method: string, ...params: unknown[]) => callRpc(rpcUrl(), method, params)
      await rpc('anvil_setBalance', from, '0xde0b6b3a7640000')
      await rpc('anvil_impersonateAccount', from)
      const data = encodeFunctionData({ abi: ABI, functionName: 'transfer', args: [to, value] })
      const call = { from, to: asset.address, data, gas: '0x7a120' }
      const hash = (await rpc('eth_sendTransaction', call)) as Hex
      await eventually(async () => (await rpc('eth_getTransactionReceipt', hash)) !== null)
      return hash
    },
    /** Money received according to the books: in transit, and final. */
    books: async () =>
      [0n - (await balance('in-transit')), 0n - (await balance('treasury'))] as const,
    async reconcile() {
      const { pool, paymentDeps } = hub().hub
      const { treasury } = hub().sandbox!.money
      const { chain, finality } = parts()
      const wallet = asset === POLYGON ? `treasury:${name}` : 'treasury'
      const ports = { pool, chain, finality, wallets: { [wallet]: treasury } }
      expect(paymentDeps.finality).to.equal(finality)
      const [result] = await reconcile(ports, { skewSeconds: 0 })
      return result!
    },
  }
}

export async function resolveOn({ hub: { paymentDeps } }: TestHub): Promise<void> {
  await eventually(async () => (await resolvePayments(paymentDeps, 0)) === 0)
  await eventually(async () => (await resolveNetworkPayments(paymentDeps, 0)) === 0)
}

const order = { body: {} }
export const send = (hub: TestHub, payment?: string): Promise<ApiResponse> =>
  ask(hub.url, '/proxy/works/once', {
    ...order,
    headers: payment === undefined ? {} : { 'payment-signature': payment },
  })

export const requiredOf = ({ headers }: ApiResponse): PaymentRequired =>
  JSON.parse(Buffer.from(String(headers['payment-required']), 'base64').toString('utf8'))

export const termsOn = (required: PaymentRequired, { network }: Asset): PaymentRequirements =>
  required.accepts.find((each) => each.network === network)!

export const clientOf = (account: PrivateKeyAccount, { network }: Asset) =>
  new x402Client()
    .register(network, new ExactEvmScheme(account))
    .setSpendControls({ maxAmountPerPayment: '$5' })

/** Signs the terms of one network, as an unmodified client does. */
export async function payloadOn(account: PrivateKeyAccount, offered: ApiResponse, asset: Asset) {
  const required = requiredOf(offered)
  const only = { ...required, accepts: [termsOn(required, asset)] }
  return clientOf(account, asset).createPaymentPayload(only)
}

export const payOn = async (account: PrivateKeyAccount, offered: ApiResponse, asset: Asset) =>
  encodePaymentSignatureHeader(await payloadOn(account, offered, asset))

export function signTransfer(
  account: PrivateKeyAccount,
  { name, version, chainId, address: verifyingContract }: Asset,
  transfer: Readonly<Record<string, string>>,
) {
  const [from, to, nonce] = [transfer['from'], transfer['to'], transfer['nonce']] as Hex[]
  const [value = 0n, validAfter = 0n, validBefore = 0n] = [
    transfer['value'],
    transfer['validAfter'],
    transfer['validBefore'],
  ].map((text) => BigInt(text!))
  return account.signTypedData({
    domain: { name, version, chainId, verifyingContract },
    types: TRANSFER_TYPES,
    primaryType: 'TransferWithAuthorization',
    message: { from: from!, to: to!, value, validAfter, validBefore, nonce: nonce! },
  })
}
