import { encodePaymentRequiredHeader } from '@x402/core/http'
import { systemClock } from '../../core/clock.ts'
import { uuidv7 } from '../../core/ids.ts'
import { creditsOf, EXTERNAL_SELLERS } from '../../core/ledger/postings.ts'
import { micros } from '../../core/money.ts'
import { readPayment } from '../../core/payments/receiving/payment.ts'
import { entry } from '../stories/attacks/sellers.ts'
import { signPayment } from '../stories/attacks/sign-payment.ts'
import type { ApiResponse } from '../support/ask.ts'
import { fundedFacilitator } from './foreign-facilitator.ts'
import type { Run } from './run.ts'

const AMOUNT = 4_321n
const newId = (): string => uuidv7(systemClock.now().getTime())

/** Pays a seller from the spend wallet without a ledger entry. */
export async function loseDebit({ environment, market }: Run): Promise<void> {
  const accepts = [entry({ payTo: market.wallets[0]!, amount: String(AMOUNT) })]
  const required = { x402Version: 2, resource: { url: 'http://shop0.test/' }, accepts }
  const header = encodePaymentRequiredHeader(required)
  const offered = { headers: { 'payment-required': header } } as unknown as ApiResponse
  const { time } = await environment.deps.chain.head()
  const payment = readPayment(await signPayment(environment.spend, offered, time))
  const settler = await fundedFacilitator(environment.rpcUrl)
  const { success } = await settler.settle(payment, payment.accepted)
  if (!success) throw new Error('the bug was not planted')
}

/** Charges a key for a call to a seller that was never made. */
export async function doubleCharge({ environment, keyed }: Run): Promise<void> {
  const { ledger } = environment.deps
  const owner = await ledger.account(creditsOf(keyed[0]!.keyId))
  const payee = await ledger.account(EXTERNAL_SELLERS)
  const call = newId()
  const terms = { amount: AMOUNT, payee, commissionBps: 0, ttlSeconds: 60 }
  await ledger.reserve({ call, owner, ...terms })
  await ledger.settle({ call, owner }, AMOUNT)
}

/** Posts a posted payment once more, with another id. */
export async function doubleSale({ environment }: Run): Promise<void> {
  const { ledger } = environment.deps
  const { rows } = await environment.pool.query<{ code: string; amount: bigint; meta: object }>(
    `SELECT a.code, c.amount, j.meta FROM ledger.journal j
     JOIN ledger.account a ON a.id = j.owner JOIN hub.payment_claim c ON c.id = j.id
     WHERE c.purpose = 'credits' AND c.state = 'confirmed' AND j.phase = 0 AND j.meta ? 'nonce'
     LIMIT 1`,
  )
  const { code, amount, meta } = rows[0]!
  const owner = await ledger.account(code)
  const event = { type: 'credits.purchased', credits: owner.code, amount: micros(amount) } as const
  await ledger.post(event, { owner, id: newId(), meta: { ...meta } })
}

/** Resets a resolved payment to a seller to `unresolved`; no job checks it for an hour. */
export async function openIntent({ environment }: Run): Promise<void> {
  await environment.admin.query(
    `UPDATE hub.payment_intent SET state = 'unresolved', changed_at = now() + interval '1 hour'
     WHERE call = (SELECT max(call::text)::uuid FROM hub.payment_intent)`,
  )
}
