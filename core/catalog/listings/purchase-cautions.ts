import type { Pool } from 'pg'
import type { Clock } from '../../clock.ts'
import { INPUT_INCOMPLETE } from '../../payments/paying/buyer.ts'
import { assessListing } from './cautions.ts'
import { missingFields, type SellerRequest } from './input-fields.ts'

/** Returns the warnings about a listing, and about a request to it that lacks required fields. */
export async function purchaseCautions(
  pool: Pool,
  clock: Clock,
  id: string,
  request: SellerRequest,
): Promise<readonly { readonly code: string; readonly message: string }[]> {
  const listing = await assessListing(pool, id, clock.now())
  if (!listing) return []
  const missing = missingFields(listing.inputSchema, request)
  return [
    ...listing.cautions.map(({ code, message }) => ({ code, message })),
    ...(missing.length > 0
      ? [{ code: INPUT_INCOMPLETE, message: `The seller requires ${missing.join(', ')}.` }]
      : []),
  ]
}
