import { type Context, clientWithKey } from '../context.ts'
import { dollars, stripControls, table } from '../terminal.ts'

interface Spending {
  readonly calls: number
  readonly free_calls: number
  readonly charged_microdollars: number
}
interface Balance {
  readonly wallet_address: string | null
  readonly balance_microdollars: number
  /** Null for a sub-key that does not see its main key. */
  readonly reserved_microdollars: number | null
  /** Null for a main key. */
  readonly key_limits: {
    readonly max_call_microdollars: number | null
    readonly day_remaining_microdollars: number | null
    readonly day_resets_at: string
    readonly total_remaining_microdollars: number | null
    readonly services: readonly string[] | null
  } | null
  readonly rate_limit: { readonly tier: string; readonly requests_per_minute: number }
  readonly free_calls: readonly FreeCalls[]
  readonly spending: { readonly by_service: readonly (Spending & { readonly service: string })[] }
}

interface FreeCalls {
  readonly service: string
  readonly remaining: number
  /** Unit of a metered price; missing for calls. */
  readonly unit?: string
}

export async function balance(context: Context): Promise<void> {
  const { terminal, hub } = context
  const { body } = await (await clientWithKey(context)).balance()
  const balance = body as unknown as Balance
  await terminal.result({ hub, ...body }, () => formatBalance(balance).join('\n'))
}

function formatBalance(balance: Balance): string[] {
  const { rate_limit: rate, free_calls: free, spending } = balance
  const reserved = balance.reserved_microdollars ?? 0
  const lines = [
    `credits   ${dollars(BigInt(balance.balance_microdollars))}` +
      (reserved > 0 ? ` and ${dollars(BigInt(reserved))} reserved for calls in flight` : ''),
    `wallet    ${balance.wallet_address ?? '(none: human account)'}`,
    `limit     ${rate.requests_per_minute} requests a minute (${rate.tier})`,
  ]
  if (free.length > 0) {
    const left = free.map(({ service, remaining, unit = 'calls' }) =>
      stripControls(`${service} ${remaining} ${unit}`),
    )
    lines.push(`free      ${left.join(', ')} left this month`)
  }
  const limits = balance.key_limits && formatLimits(balance.key_limits)
  if (limits) lines.push(`limits    ${limits}`)
  const rows = spending.by_service.map((each) => [
    each.service,
    String(each.calls),
    String(each.free_calls),
    dollars(BigInt(each.charged_microdollars)),
  ])
  if (rows.length > 0) lines.push('', table(['this month', 'calls', 'free', 'charged'], rows))
  return lines
}

function formatLimits(limits: NonNullable<Balance['key_limits']>): string {
  const { max_call_microdollars: call, day_remaining_microdollars: day } = limits
  const { total_remaining_microdollars: total, services, day_resets_at: resets } = limits
  const texts = [
    call !== null && `${dollars(BigInt(call))} per call`,
    day !== null && `${dollars(BigInt(day))} left today (until ${resets})`,
    total !== null && `${dollars(BigInt(total))} left in total`,
    services !== null && `only ${services.join(', ')}`,
  ]
  return texts.filter(Boolean).join('; ')
}
