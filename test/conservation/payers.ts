import { type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { systemClock } from '../../core/clock.ts'
import type { Hex } from '../../core/payments/chain/asset.ts'
import { readPayment } from '../../core/payments/receiving/payment.ts'
import { type PaymentFlaws, signPayment } from '../stories/attacks/sign-payment.ts'
import type { Told } from '../support/ask.ts'
import { type Act, nonceFor } from './acts.ts'
import type { Desk, Sent, Want } from './operators.ts'
import type { Random } from './random.ts'

/** A wallet of a buyer's, and what it was given. */
export interface Purse {
  readonly account: PrivateKeyAccount
  /** Microdollars. */
  readonly funded: bigint
}

export const purseOf = (random: Random, funded: bigint): Purse => ({
  account: privateKeyToAccount(random.hex(32)),
  funded,
})

/** Signs a payment for an offer; undefined where there is no offer. */
export async function sign(
  random: Random,
  { account }: Purse,
  offered: Told | undefined,
  act: Act,
  { signed, ...spoilt }: PaymentFlaws = {},
): Promise<Sent | undefined> {
  if (!offered?.headers['payment-required']) return undefined
  const nonce = nonceFor(act, random)
  const now = systemClock.now()
  const payment = await signPayment(account, offered, now, {
    ...spoilt,
    signed: { ...signed, nonce },
  })
  const { from, value } = readPayment(payment).payload.authorization
  const payer = from.toLowerCase() as Hex
  return { payer, nonce, amount: BigInt(value), act, payment, wants: [], answers: [] }
}

/** Asks for the offer, and signs; one who must pay before the work is asked again, and does. */
export async function buy(
  desk: Desk,
  random: Random,
  purse: Purse,
  want: Want,
  act: Act,
): Promise<Sent | undefined> {
  const sent = await sign(random, purse, await desk.ask(want), act)
  if (!sent) return undefined
  const told = await desk.pay(sent, want)
  if (told?.body['reason'] !== 'upfront_required') return sent
  const upfront = await sign(random, purse, told, act)
  if (!upfront) return sent
  await desk.pay(upfront, want)
  return upfront
}
