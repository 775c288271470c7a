import { decodePaymentRequiredHeader, encodePaymentSignatureHeader } from '@x402/core/http'
import { UptoEvmScheme } from '@x402/evm/upto/client'
import { x402Client } from '@x402/fetch'
import { Challenge, Credential } from 'mppx'
import { evm } from 'mppx/client'
import type { PrivateKeyAccount } from 'viem/accounts'
import { systemClock } from '../../../core/clock.ts'
import type { Asset } from '../../../core/payments/chain/asset.ts'
import { readPayment } from '../../../core/payments/receiving/payment.ts'
import { signPayment } from '../../stories/attacks/sign-payment.ts'
import type { ApiResponse } from '../../support/ask.ts'
import { authorizationOf } from '../../support/authorization.ts'
import type { Answer, SignedPayment } from './request-log.ts'

/** Payment of one request, with the headers that carry it. */
export interface RailPayment {
  readonly headers: Readonly<Record<string, string>>
  readonly payment: SignedPayment
}

/** Signs a payment for the offer of a 402. */
export type Signer = (account: PrivateKeyAccount, offered: Answer) => Promise<RailPayment>

const PAYMENT_SECONDS = 60

/** Pays by x402 (scheme `exact`) on one network. */
export const signExact =
  (asset: Asset): Signer =>
  async (account, { headers }) => {
    const offer = { headers } as unknown as ApiResponse
    const signed = { seconds: PAYMENT_SECONDS }
    const header = await signPayment(account, offer, systemClock.now(), { signed }, asset)
    const { from, nonce, value } = authorizationOf(readPayment(header).payload)
    const payment = { payer: from.toLowerCase(), nonce, amount: value }
    return { headers: { 'payment-signature': header }, payment }
  }

/** Pays by MPP, with the unmodified client of mppx. */
export const signMpp: Signer = async (account, { headers = {} }) => {
  const challenge = Challenge.deserialize(String(headers['www-authenticate']))
  const currencies = [evm.assets.base.USDC]
  const authorization = await evm
    .charge({ account, currencies })
    .createCredential({ challenge: challenge as never, context: {} })
  const { payload } = Credential.deserialize(authorization)
  const { from, nonce, value } = payload as Record<'from' | 'nonce' | 'value', string>
  return {
    headers: { authorization },
    payment: { payer: from.toLowerCase(), nonce, amount: value },
  }
}

/** Pays a metered price by x402 (scheme `upto`). @param usage what the call will use */
export const signUpto =
  (rpcUrl: string, usage: bigint): Signer =>
  async (account, { headers = {} }) => {
    const client = new x402Client().register('eip155:8453', new UptoEvmScheme(account, { rpcUrl }))
    const required = decodePaymentRequiredHeader(String(headers['payment-required']))
    const signed = await client.createPaymentPayload(required)
    const { nonce } = (signed.payload as { permit2Authorization: { nonce: string } })
      .permit2Authorization
    const payment = {
      payer: account.address.toLowerCase(),
      nonce: `0x${BigInt(nonce).toString(16).padStart(64, '0')}`,
      amount: String(usage),
    }
    return { headers: { 'payment-signature': encodePaymentSignatureHeader(signed) }, payment }
  }
