import { HubError, newIdempotencyKey } from '../../../core/client/index.ts'
import { MIN_TOP_UP, type Micros } from '../../../core/money.ts'
import { type Context, isSandbox } from '../context.ts'
import { Failure, toFailure } from '../failure.ts'
import { dollars } from '../terminal.ts'
import { requireWallet } from '../wallet.ts'
import { parseDollars } from './arguments.ts'
import { requestTestMoney } from './test-money.ts'

const POLL_MS = 2_000
const PENDING_TIMEOUT_MS = 120_000

export interface TopupFlags {
  readonly keystore?: string
  readonly purchaseId?: string
}

/** Buys credits with USDC from the wallet, with one signature. */
export async function topup(context: Context, amountText: string, flags: TopupFlags) {
  const { terminal, store, hub, client } = context
  const amount = parseAmount(amountText)
  const apiKey = await store.apiKey()
  const sandbox = await isSandbox(context)
  const wallet = await requireWallet(context, sandbox, flags.keystore)
  const { address } = wallet.account
  const token = sandbox ? 'test USDC' : 'USDC on Base'
  await requireConsent(context, `Pay ${dollars(amount)} in ${token} from ${address} to ${hub}?`)
  const paying = client({ apiKey, wallet })
  if (sandbox) await requestTestMoney(context, apiKey, amount, address)
  const purchaseId = flags.purchaseId ?? newIdempotencyKey()
  const purchased = await terminal
    .withSpinner('Paying', purchase(paying, amount, purchaseId))
    .catch((error: unknown) => Promise.reject(withPurchaseId(error, purchaseId)))
  await terminal.result({ hub, ...purchased }, () =>
    [
      `Bought ${dollars(amount)} of credits.`,
      `  credits      ${dollars(BigInt(Number(purchased['balance_microdollars'])))}`,
      `  transaction  ${String(purchased['transaction'])}`,
    ].join('\n'),
  )
}

/** Adds the id of the purchase to an error, so that a repetition does not pay twice. */
function withPurchaseId(error: unknown, purchaseId: string): unknown {
  const failure = toFailure(error)
  if (!failure) return error
  const isUncertain = failure.kind === 'unreachable' || failure.kind === 'upstream'
  const again = `Repeat with --purchase-id ${purchaseId}: it is paid once.`
  return failure.with({ purchase_id: purchaseId }, isUncertain ? again : undefined)
}

function parseAmount(text: string): Micros {
  const amount = parseDollars(text)
  if (amount >= MIN_TOP_UP) return amount
  throw new Failure('usage', `The minimum is ${dollars(MIN_TOP_UP)}.`, 'Such as: hub topup 5')
}

/** @throws Failure unless the user agrees, interactively or with `--yes` */
export async function requireConsent({ terminal }: Context, question: string): Promise<void> {
  const answer = await terminal.confirm(question)
  if (answer === true) return
  if (answer === false) throw new Failure('declined', 'Nothing was paid or changed.')
  throw new Failure('declined', `${question} There is no terminal to ask.`, 'Pass --yes to agree.')
}

type Buyer = ReturnType<Context['client']>

/** Buys credits. Waits for a pending payment, which must not be repeated. */
async function purchase(buyer: Buyer, amount: Micros, purchaseId: string) {
  try {
    const { body } = await buyer.purchase(amount, purchaseId)
    if (body['state'] !== 'pending') return body
  } catch (error) {
    if (!(error instanceof HubError && error.code === 'payment_pending')) throw error
  }
  const deadline = performance.now() + PENDING_TIMEOUT_MS
  while (performance.now() < deadline) {
    await new Promise((resolve) => setTimeout(resolve, POLL_MS))
    const { body } = await buyer.send('/v1/credits/purchase', {
      method: 'POST',
      body: { amount_microdollars: Number(amount), purchase_id: purchaseId },
    })
    if (body['state'] === 'settled') return body
  }
  throw new Failure(
    'error',
    'The payment is pending and not confirmed yet.',
    'Do not pay again; check `hub balance` in a few minutes.',
    { code: 'payment_pending' },
  )
}
