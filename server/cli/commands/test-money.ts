import { HubError } from '../../../core/client/index.ts'
import type { Micros } from '../../../core/money.ts'
import type { Context } from '../context.ts'

/** Requests test USDC from the faucet of a sandbox. */
export async function requestTestMoney(
  context: Context,
  apiKey: string,
  amount: Micros,
  address: string,
): Promise<void> {
  const body = { wallet_address: address, amount_microdollars: Number(amount) }
  const asked = context.client({ apiKey }).send('/v1/sandbox/faucet', { method: 'POST', body })
  await asked.catch((error: unknown) => {
    if (!(error instanceof HubError && error.status === 404)) throw error
  })
}
