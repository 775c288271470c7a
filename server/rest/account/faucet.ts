import { getAddress } from 'viem'
import { z } from 'zod'
import type { Hex } from '../../../core/payments/chain/asset.ts'
import { type AnyRoute, route } from '../route.ts'

/** Maximum per request: 100 USD. */
const MAX_AMOUNT_MICROS = 100_000_000

const FaucetTransfer = z.object({ wallet_address: z.string(), amount_microdollars: z.int() })

/** `POST /v1/sandbox/faucet`, only in sandboxes. @param give sends test USDC, in microdollars */
export const faucetRoutes = (
  give: ((address: Hex, amount: bigint) => Promise<void>) | undefined,
): readonly AnyRoute[] =>
  give === undefined
    ? []
    : [
        route('POST /v1/sandbox/faucet', {
          summary: 'Sends test USDC without value to a wallet on the local chain of this sandbox.',
          auth: 'key',
          body: z.strictObject({
            wallet_address: z
              .string()
              .regex(/^0x[0-9a-fA-F]{40}$/, 'must be an address: 0x and 40 hex digits')
              .transform((text) => getAddress(text.toLowerCase())),
            amount_microdollars: z.int().min(1).max(MAX_AMOUNT_MICROS),
          }),
          response: { status: 200, schema: FaucetTransfer },
          handle: async ({ body }) => {
            await give(body.wallet_address, BigInt(body.amount_microdollars))
            return { body }
          },
        }),
      ]
