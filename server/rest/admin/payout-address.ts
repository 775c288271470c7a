import type { Pool } from 'pg'
import { z } from 'zod'
import type { Config } from '../../../core/config.ts'
import { recoverAddress } from '../../../core/providers/address-change.ts'
import { walletAddress } from '../account/registration.ts'
import { auditReason } from '../fields.ts'
import { PayoutAddressView, showDestination } from '../provider/payout-address.ts'
import { type AnyRoute, route, staffOf } from '../route.ts'

export interface AddressRecoveryDeps {
  readonly pool: Pool
  readonly payouts: Pick<Config['payouts'], 'recoveryHours'>
}

/** Recovery of a payout address whose wallet is lost. */
export const addressRecoveryRoutes = ({
  pool,
  payouts: { recoveryHours: hours },
}: AddressRecoveryDeps): readonly AnyRoute[] => [
  route('POST /v1/admin/providers/{id}/payout-address', {
    summary: 'Authorizes a requested payout address instead of the lost wallet, after a long wait.',
    auth: 'admin',
    body: z.strictObject({
      address: walletAddress.meta({ description: 'The requested address, as you checked it.' }),
      reason: auditReason,
    }),
    response: { status: 200, schema: PayoutAddressView },
    faults: ['not_found', 'own_account'],
    handle: async (request) => {
      const { address, reason } = request.body
      const change = { provider: request.params.id, address }
      const place = await recoverAddress(pool, staffOf(request), change, { hours, reason })
      return { body: showDestination(place) }
    },
  }),
]
