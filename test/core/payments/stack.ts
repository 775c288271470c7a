import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { encodePaymentSignatureHeader } from '@x402/core/http'
import type { PaymentRequired } from '@x402/core/types'
import { ExactEvmScheme } from '@x402/evm/exact/client'
import { x402Client } from '@x402/fetch'
import { keccak256, type PrivateKeyAccount, toHex } from 'viem'
import { systemClock } from '../../../core/clock.ts'
import { usd } from '../../../core/money.ts'
import { type Hex, USDC_BASE } from '../../../core/payments/chain/asset.ts'
import { TRANSFER_TYPES } from '../../../core/payments/chain/authorization.ts'
import { openChain } from '../../../core/payments/chain/chain.ts'
import {
  BASE_MAINNET,
  type ChainIdentity,
  MULTICALL3,
} from '../../../core/payments/chain/identity.ts'
import {
  type LocalFacilitatorOptions,
  localFacilitator,
} from '../../../core/payments/facilitators/local.ts'
import { createOffers } from '../../../core/payments/receiving/offers.ts'
import { startChain } from '../../../server/sandbox/chain.ts'
import contracts from '../../../server/sandbox/contracts/contracts.artifact.json' with {
  type: 'json',
}
import { callRpc } from '../../../server/sandbox/rpc.ts'
import { fund, openWallets } from '../../../server/sandbox/wallets.ts'

export const NETWORK = USDC_BASE.network
export const USDC = USDC_BASE.address

export type Stack = Awaited<ReturnType<typeof startStack>>

/** A local chain with a funded agent and gas wallet, a facilitator and a shop. One per file. */
export async function startStack() {
  const dataDir = await mkdtemp(join(tmpdir(), 'agenthub-sandbox-'))
  const chain = await startChain({ dataDir, port: 0 })
  const { rpcUrl } = chain
  const wallets = await openWallets(dataDir)
  const { agent, gas, treasury } = wallets
  await fund(rpcUrl, agent.account.address, { usdc: 100_000_000n })
  await fund(rpcUrl, gas.account.address, { wei: 10n ** 18n })
  const facilitatorWith = (options: Partial<LocalFacilitatorOptions> = {}) =>
    localFacilitator({ rpcUrl, key: gas.key, network: NETWORK, pollMs: 10, ...options })
  const facilitator = facilitatorWith()
  return {
    dataDir,
    rpcUrl,
    wallets,
    facilitator,
    facilitatorWith,
    payTo: treasury.account.address,
    offers: createOffers({ facilitator, payTo: treasury.account.address, network: NETWORK }),
    chain: openChain({ rpcUrl, network: NETWORK }),
    rpc: (method: string, ...params: unknown[]) => callRpc(rpcUrl, method, params),
    async stop() {
      await chain.stop()
      await rm(dataDir, { recursive: true })
    },
  }
}

/** Production settings with the wallets of a stack, whose keys are in the environment. */
export const productionOf = ({
  rpcUrl,
  payTo: treasury,
  wallets,
}: Pick<Stack, 'rpcUrl' | 'payTo' | 'wallets'>) => ({
  rpcUrl,
  treasury,
  spendKey: { kind: 'environment', key: wallets.spend.key } as const,
  signerTls: { ca: undefined, cert: undefined, key: undefined },
  environmentKeyLimit: usd('1000000'),
  ethPrice: usd('3000'),
})

/** Identity of the stack's local chain, which is not Base. */
export const identityOf = async ({ chain }: Pick<Stack, 'chain'>): Promise<ChainIdentity> => ({
  ...BASE_MAINNET,
  genesis: await chain.genesis(),
  code: [
    { name: 'USDC', address: USDC, hash: keccak256(contracts.DevUSDC.deployed as Hex) },
    {
      name: 'Multicall3',
      address: MULTICALL3,
      hash: keccak256(contracts.MiniMulticall3.deployed as Hex),
    },
  ],
  blockOpener: undefined,
})

export const clientOf = (account: PrivateKeyAccount) =>
  new x402Client().register(NETWORK, new ExactEvmScheme(account))

/** Signs PAYMENT-SIGNATURE for a required payment. */
export const sign = async (account: PrivateKeyAccount, required: PaymentRequired) =>
  encodePaymentSignatureHeader(await clientOf(account).createPaymentPayload(required))

/** Signs an authorization with any terms. */
export async function authorize(
  account: PrivateKeyAccount,
  terms: { to: Hex; value: bigint; seconds?: number; nonce?: Hex },
) {
  const { to, value, seconds = 60 } = terms
  const now = BigInt(systemClock.now().getTime()) / 1_000n
  const message = {
    from: account.address,
    to,
    value,
    validAfter: now - 60n,
    validBefore: now + BigInt(seconds),
    nonce: terms.nonce ?? toHex(crypto.getRandomValues(new Uint8Array(32))),
  }
  const signature = await account.signTypedData({
    domain: DOMAIN,
    types: TRANSFER_TYPES,
    primaryType: 'TransferWithAuthorization',
    message,
  })
  return { message, signature }
}

export const DOMAIN = {
  name: USDC_BASE.name,
  version: USDC_BASE.version,
  chainId: USDC_BASE.chainId,
  verifyingContract: USDC,
}

/** Builds PAYMENT-SIGNATURE from an authorization for `required`'s only entry. */
export function header(
  required: PaymentRequired,
  { message, signature }: Awaited<ReturnType<typeof authorize>>,
): string {
  const { validAfter, validBefore, value, ...rest } = message
  const times = { validAfter: String(validAfter), validBefore: String(validBefore) }
  const [accepted] = required.accepts
  if (accepted === undefined) throw new Error('the response contains no offer')
  const authorization = { ...rest, ...times, value: String(value) }
  return encodePaymentSignatureHeader({
    x402Version: 2,
    accepted,
    payload: { signature, authorization },
  })
}
