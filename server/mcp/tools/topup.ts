import { randomUUID } from 'node:crypto'
import type { Clock } from '../../../core/clock.ts'
import type { JsonObject } from '../../../core/json.ts'
import { dollars, MIN_TOP_UP, type Micros } from '../../../core/money.ts'
import type { Offers } from '../../../core/payments/receiving/offers.ts'
import * as s from '../../../core/plugin/schema.ts'
import type { AccountStatus } from '../../../core/usage/account-status.ts'
import { MAX_PURCHASE_MICROS, purchaseTerms, topupCommand } from '../../rest/account/credits.ts'
import { parseDollars } from '../dollars.ts'
import { invalidArgumentsResult, jsonResult } from '../results.ts'
import { type AnyTool, defineTool, READ_ONLY, type ToolContext } from '../tool.ts'
import { resultSchema } from './schemas.ts'

export interface TopupDeps {
  readonly offers: Offers
  readonly accountStatus: AccountStatus
  readonly clock: Clock
  readonly baseUrl: () => string
  readonly cliCommand: () => string
  readonly sandbox: boolean
}

const DEFAULT = dollars(MIN_TOP_UP)
/** With another key, the command would pay for other credits. */
const CLI_NEEDS = 'HUB_API_KEY set to this key, and a wallet created by the command "register"'
const SANDBOX = 'Test money only: never pay this offer with a wallet that has real USDC.'

/** `hub_topup`: explains how to buy credits. It buys none; a person or a wallet must pay. */
export const topupTool = (deps: TopupDeps): AnyTool =>
  defineTool({
    name: 'hub_topup',
    title: 'Buy credits',
    description:
      'Explains how to buy credits with USDC on Base by x402: in a browser, by command line or ' +
      'by signing. It pays nothing itself: show the result to the user, or sign the offer with ' +
      'your own wallet; then check hub_balance. Example: {"amount_usd":"5.00"}.',
    annotations: READ_ONLY,
    input: s.object({
      amount_usd: s.optional(
        s.string({ maxLength: 24, description: `At least ${DEFAULT}, the default.` }),
      ),
    }),
    output: resultSchema({
      amount_usd: { type: 'string' },
      purchase_id: { type: 'string' },
      options: { type: 'object' },
    }),
    run: async ({ amount_usd: text = DEFAULT }, context) => {
      const amount = parseDollars(text)
      if (amount < MIN_TOP_UP || amount > MAX_PURCHASE_MICROS) {
        const range = `${dollars(MIN_TOP_UP)} to ${dollars(MAX_PURCHASE_MICROS)} USD`
        return invalidArgumentsResult('hub_topup', [
          { path: '/amount_usd', message: `must be ${range}` },
        ])
      }
      return jsonResult(await instructions(deps, amount, context))
    },
  })

async function instructions(
  { offers, accountStatus, clock, baseUrl, cliCommand, sandbox }: TopupDeps,
  amount: Micros,
  { caller }: ToolContext,
): Promise<JsonObject> {
  const base = baseUrl()
  const name = `pur_${randomUUID()}`
  const url = `${base}/v1/credits/purchase`
  const { required } = await offers.signedOffer(purchaseTerms(amount, url))
  const value = dollars(amount)
  const order = { amount_usd: value, key_id: caller.keyId, purchase_id: name }
  const page = `${base}/topup?${new URLSearchParams(order).toString()}`
  const command = topupCommand(cliCommand(), { amount, baseUrl: base, purchaseId: name }).join(' ')
  return {
    amount_usd: value,
    min_usd: DEFAULT,
    balance_usd: dollars(await accountStatus.spendable(caller, clock.now())),
    key_id: caller.keyId,
    purchase_id: name,
    ...(sandbox && { sandbox: SANDBOX }),
    options: {
      browser: {
        url: page,
        for: sandbox ? 'a person: a test wallet pays' : 'a person with a wallet: show the link',
      },
      cli: { command, needs: `${CLI_NEEDS}${sandbox ? '' : ' that has USDC on Base'}` },
      x402: {
        method: 'POST',
        url,
        headers: { Authorization: 'Bearer <this key>' },
        body: { amount_microdollars: Number(amount), purchase_id: name },
        flow: 'The response is 402. Send the request again with PAYMENT-SIGNATURE for this offer.',
        payment_required: required,
      },
    },
    tell_user:
      `To add ${value} USD of ${sandbox ? 'test credits' : 'credits'} open ${page}` +
      `${sandbox ? '' : ' with a wallet that has USDC on Base'}, or set HUB_API_KEY to this key ` +
      `and run "${command}".`,
    after_payment: 'hub_balance shows the credits when the payment has settled.',
    warning: 'Do not send a plain transfer: only these options add credits. Use one, once.',
  }
}
