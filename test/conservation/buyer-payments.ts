import { type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { systemClock } from '../../core/clock.ts'
import type { Hex } from '../../core/payments/chain/asset.ts'
import { readPayment } from '../../core/payments/receiving/payment.ts'
import { type PaymentFlaws, signPayment } from '../stories/attacks/sign-payment.ts'
import type { ApiResponse } from '../support/ask.ts'
import { authorizationOf } from '../support/authorization.ts'
import { type FacilitatorBehavior, nonceFor } from './facilitator-behaviors.ts'
import type { Random } from './random.ts'
import type { PaidRequest, RequestRecorder, SentPayment } from './request-recorder.ts'

/** Wallet of a buyer with its initial funding. */
export interface BuyerWallet {
  readonly account: PrivateKeyAccount
  /** Microdollars. */
  readonly funded: bigint
}

export const createBuyerWallet = (random: Random, funded: bigint): BuyerWallet => ({
  account: privateKeyToAccount(random.hex(32)),
  funded,
})

/** Signs a payment for an offer. Returns undefined if there is no offer. */
export async function sign(
  random: Random,
  { account }: BuyerWallet,
  offered: ApiResponse | undefined,
  behavior: FacilitatorBehavior,
  { signed, ...invalid }: PaymentFlaws = {},
): Promise<SentPayment | undefined> {
  if (!offered?.headers['payment-required']) return undefined
  const nonce = nonceFor(behavior, random)
  const now = systemClock.now()
  const payment = await signPayment(account, offered, now, {
    ...invalid,
    signed: { ...signed, nonce },
  })
  const { from, value } = authorizationOf(readPayment(payment).payload)
  const payer = from.toLowerCase() as Hex
  return { payer, nonce, amount: BigInt(value), behavior, payment, requests: [], responses: [] }
}

/** Requests the offer, signs and pays; pays again upfront if the hub demands that. */
export async function buy(
  recorder: RequestRecorder,
  random: Random,
  buyerWallet: BuyerWallet,
  request: PaidRequest,
  behavior: FacilitatorBehavior,
): Promise<SentPayment | undefined> {
  const sent = await sign(random, buyerWallet, await recorder.ask(request), behavior)
  if (!sent) return undefined
  const response = await recorder.pay(sent, request)
  if (response?.body['reason'] !== 'upfront_required') return sent
  const upfront = await sign(random, buyerWallet, response, behavior)
  if (!upfront) return sent
  await recorder.pay(upfront, request)
  return upfront
}
