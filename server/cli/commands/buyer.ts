import { PaymentUnresolved, payDirect } from '../../../core/client/direct.ts'
import {
  type CallOptions,
  HubError,
  type HubResponse,
  type PaymentProtocol,
} from '../../../core/client/index.ts'
import { type Micros, micros } from '../../../core/money.ts'
import { type Context, clientWithKey, isSandbox } from '../context.ts'
import { Failure } from '../failure.ts'
import { dollars } from '../terminal.ts'
import { requireWallet } from '../wallet.ts'
import { parseQuery } from './arguments.ts'
import type { Target } from './target.ts'
import { requestTestMoney } from './test-money.ts'

interface Call {
  readonly target: Target
  readonly input: unknown
  readonly query: readonly string[]
  readonly options: CallOptions
}

export interface PaymentFlags {
  readonly pay?: string
  readonly keystore?: string
  /** Payee address to accept from an external seller. */
  readonly acceptPayTo?: string
}

/** Code of a failure after a payment was sent to a seller. */
export const PAYMENT_UNRESOLVED = 'payment_unresolved'

const PAYMENT_MODES = ['auto', 'credits', 'mpp', 'siwx', 'x402']
const UNPAID: ReadonlySet<string> = new Set(['insufficient_credits', 'payment_required'])

/** Makes calls, paid by free calls and credits, or else by the wallet if the user confirms. */
export async function createBuyer(
  context: Context,
  flags: PaymentFlags,
): Promise<(call: Call) => Promise<HubResponse>> {
  const { pay = 'auto' } = flags
  if (!PAYMENT_MODES.includes(pay))
    throw new Failure('usage', `Not a payment mode: ${pay}`, PAYMENT_MODES.join(', '))
  if (pay === 'siwx') return (call) => signInFromWallet(context, call, flags)
  if (pay === 'x402' || pay === 'mpp') return (call) => payFromWallet(context, call, flags, pay)
  const client = await clientWithKey(context)
  return async (call) => {
    try {
      return await send(client, call, flags.acceptPayTo)
    } catch (error) {
      const isUnpaid = error instanceof HubError && UNPAID.has(error.code)
      if (!isUnpaid || pay === 'credits' || call.options.dryRun) throw error
      const maxPrice = await confirmWalletPayment(context, error)
      if (maxPrice === undefined) throw error
      const options = { ...call.options, maxPrice }
      return payFromWallet(context, { ...call, options }, flags, 'x402')
    }
  }
}

const send = (
  client: ReturnType<Context['client']>,
  { target, input, query, options }: Call,
  payTo: string | undefined,
) =>
  target.kind === 'native'
    ? client.call(target.slug, target.path, input, { ...options, method: target.method })
    : client.external(
        { ...toProxyRequest(target, input, query, options), accept_pay_to: payTo },
        { ...options, headers: {} },
      )

const toProxyRequest = (
  { url, method }: Extract<Target, { kind: 'external' }>,
  body: unknown,
  query: readonly string[],
  { headers = {} }: CallOptions,
) => {
  const address = new URL(url)
  for (const [name, value] of Object.entries(parseQuery(query)))
    address.searchParams.append(name, value)
  return { url: address.href, method, headers, ...(body === undefined ? {} : { body }) }
}

/**
 * Asks a person to confirm a wallet payment; agents pass `--pay x402` instead.
 * @returns the confirmed price, which is then the maximum
 */
async function confirmWalletPayment(
  { terminal }: Context,
  { status, body }: HubError,
): Promise<Micros | undefined> {
  const price = Number(body['price_microdollars'] ?? Number.NaN)
  if (status !== 402 || !terminal.isInteractive || !Number.isSafeInteger(price)) return undefined
  const question = `No credits are left. Pay ${dollars(BigInt(price))} from your wallet, by x402?`
  return (await terminal.confirm(question)) === true ? micros(price) : undefined
}

/** Spends credits of the wallet, which signs for this call instead of using a key. */
async function signInFromWallet(
  context: Context,
  call: Call,
  { keystore, acceptPayTo }: PaymentFlags,
): Promise<HubResponse> {
  const wallet = await requireWallet(context, await isSandbox(context), keystore)
  const options = { ...call.options, signInUpTo: call.options.maxPrice ?? 0n }
  return send(context.client({ wallet }), { ...call, options }, acceptPayTo)
}

async function payFromWallet(
  context: Context,
  call: Call,
  { keystore }: PaymentFlags,
  protocol: PaymentProtocol,
): Promise<HubResponse> {
  const { target, input, query, options } = call
  if (target.kind === 'external' && protocol === 'mpp')
    throw new Failure('usage', 'External APIs choose how they are paid.', 'Use `--pay x402`.')
  if (target.kind === 'external' && options.dryRun)
    throw new Failure('usage', 'Only the hub can ask a seller for its price.', 'Omit --pay.')
  const sandbox = await isSandbox(context)
  const wallet = await requireWallet(context, sandbox, keystore)
  const payUpTo = options.maxPrice ?? 0n
  if (target.kind === 'external') {
    const request = toProxyRequest(target, input, query, options)
    return payDirect(wallet, request, payUpTo).catch((error: unknown) => {
      throw error instanceof PaymentUnresolved ? unresolvedFailure(error) : error
    })
  }
  const payer = context.client({ wallet })
  const paid = { ...options, method: target.method, payUpTo, protocol }
  const pay = () => payer.call(target.slug, target.path, input, paid)
  if (!sandbox) return pay()
  return pay().catch(async (error: unknown) => {
    if (!isInsufficientBalance(error)) throw error // nothing was paid: sign another
    await requestTestMoney(
      context,
      await context.store.apiKey(),
      payUpTo as Micros,
      wallet.account.address,
    )
    return pay()
  })
}

/** Failure that warns of a second payment, in place of the hint that a retry is charged once. */
const unresolvedFailure = (error: PaymentUnresolved): Failure =>
  new Failure(
    'upstream',
    `${error.message} It may take ${dollars(error.amount)} until ${error.expiresAt.toISOString()}.`,
    'Do not call again before: a repetition pays again.',
    {
      code: PAYMENT_UNRESOLVED,
      details: {
        amount_microdollars: Number(error.amount),
        expires_at: error.expiresAt.toISOString(),
      },
      cause: error,
    },
  )

/** Returns true if a facilitator reports an insufficient wallet balance. */
const isInsufficientBalance = (error: unknown): boolean =>
  error instanceof HubError && /insufficient_(?:balance|funds)$/.test(String(error.body['reason']))
