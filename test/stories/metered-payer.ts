import { createPermit2ApprovalTx, PERMIT2_ADDRESS, uptoPermit2WitnessTypes } from '@x402/evm'
import { UptoEvmScheme } from '@x402/evm/upto/client'
import { x402Client } from '@x402/fetch'
import { createWalletClient, http, type TypedDataDomain } from 'viem'
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { base } from 'viem/op-stack'
import { usd } from '../../core/money.ts'
import { type Hex, USDC_BASE } from '../../core/payments/chain/asset.ts'
import { resolvePayments } from '../../core/payments/operations/resolve.ts'
import { fund } from '../../server/sandbox/wallets.ts'
import { ask } from '../support/ask.ts'
import { eventually } from '../support/eventually.ts'
import type { TestHub } from '../support/hub.ts'
import type { Step } from './metered-service.ts'

export const decode = (header: unknown) =>
  JSON.parse(Buffer.from(String(header), 'base64').toString('utf8'))
export const encode = (payment: object) => Buffer.from(JSON.stringify(payment)).toString('base64')

/** Permit in a payment of the scheme `upto`. */
export interface SignedPermit {
  readonly permit2Authorization: {
    readonly permitted: { readonly amount: string; readonly token: Hex }
    readonly witness: { readonly to: Hex; readonly facilitator: Hex; readonly validAfter: string }
    readonly spender: Hex
    readonly deadline: string
    readonly nonce: string
  }
  readonly signature: Hex
}

export type MeteredPayer = ReturnType<typeof useMeteredPayer>

const BALANCE = usd('1')

/** Provides a wallet with 1 USDC and no approvals, before each test, and calls of `metered`. */
export function useMeteredPayer(hub: () => TestHub) {
  let account: PrivateKeyAccount
  const rpcUrl = () => hub().sandbox!.rpcUrl
  const createAccount = async (usdc = BALANCE) => {
    const created = privateKeyToAccount(generatePrivateKey())
    await fund(rpcUrl(), created.address, { usdc })
    return created
  }
  beforeEach(async () => {
    account = await createAccount()
  })
  const clientOf = (payer = account) =>
    new x402Client().register('eip155:8453', new UptoEvmScheme(payer, { rpcUrl: rpcUrl() }))
  const call = (path: string, steps: readonly Step[], payment?: string) =>
    ask(hub().url, `/proxy/metered/${path}`, {
      body: { steps },
      headers: payment === undefined ? {} : { 'payment-signature': payment },
    })
  const walletOf = async (payer: PrivateKeyAccount) => {
    await fund(rpcUrl(), payer.address, { wei: 10n ** 18n })
    return createWalletClient({ account: payer, chain: base, transport: http(rpcUrl()) })
  }
  return {
    account: () => account,
    createAccount,
    clientOf,
    call,
    /** Opens a wallet that has gas. */
    walletOf,
    /** Approves Permit2, so that concurrent calls need no permit of USDC. */
    approve: async (payer = account) => {
      await (await walletOf(payer)).sendTransaction(createPermit2ApprovalTx(USDC_BASE.address))
    },
    /** Signs a payment for the offer of a call. */
    sign: async (path: string, steps: readonly Step[], payer = account) => {
      const { headers } = await call(path, steps)
      const payment = await clientOf(payer).createPaymentPayload(
        decode(headers['payment-required']),
      )
      return payment as typeof payment & { readonly payload: SignedPermit }
    },
    /** Signs a permit as it is, with optional flaws of its EIP-712 domain. */
    signPermit: (
      { permitted, spender, nonce, deadline, witness }: SignedPermit['permit2Authorization'],
      domain: TypedDataDomain = {},
    ) =>
      account.signTypedData({
        domain: {
          name: 'Permit2',
          chainId: base.id,
          verifyingContract: PERMIT2_ADDRESS,
          ...domain,
        },
        types: uptoPermit2WitnessTypes,
        primaryType: 'PermitWitnessTransferFrom',
        message: {
          permitted: { ...permitted, amount: BigInt(permitted.amount) },
          spender,
          nonce: BigInt(nonce),
          deadline: BigInt(deadline),
          witness: { ...witness, validAfter: BigInt(witness.validAfter) },
        },
      }),
    spent: async (payer = account, from: bigint = BALANCE) =>
      from - (await hub().hub.paymentDeps.chain.balanceOf(payer.address)),
    claims: async (payer = account) => {
      const { rows } = await hub().hub.pool.query<Record<string, unknown>>(
        `SELECT id, state, amount, authorized FROM hub.payment_claim WHERE payer = $1
         ORDER BY claimed_at`,
        [payer.address.toLowerCase()],
      )
      return rows
    },
    resolve: () => eventually(async () => (await resolvePayments(hub().hub.paymentDeps, 0)) === 0),
  }
}
