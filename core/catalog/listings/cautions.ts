import { daysBefore } from '../../clock.ts'
import { isJsonObject } from '../../json.ts'
import type { Listing, ListingChange, ListingHistory } from './find-listings.ts'

/** Warning to consider before paying a seller. */
export interface Caution {
  readonly code: string
  readonly message: string
  readonly since: Date | null
}

const RECENT_DAYS = 30
const CALLS_MIN = 3

/** Derives warnings about a listing from what probes and calls have shown. Pure. */
export function cautionsOf(listing: Listing, history: ListingHistory, now: Date): Caution[] {
  const since = daysBefore(now, RECENT_DAYS)
  const recent = history.changes.filter(({ verified, at }) => verified && at > since)
  const newest = (field: ListingChange['field']) =>
    recent.find((change) => change.field === field && change.before !== null)
  const cautions: Caution[] = []
  const warn = (code: string, message: string, at: Date | null = null): void => {
    cautions.push({ code, message, since: at })
  }
  const payTo = newest('pay_to')
  if (payTo) warn('pay_to_changed', `The previous recipient was ${payTo.before}.`, payTo.at)
  const price = newest('price')
  if (price?.before && BigInt(price.after) > BigInt(price.before)) {
    warn('price_raised', `The previous price was ${price.before} microdollars.`, price.at)
  }
  const network = newest('network')
  if (network) warn('network_changed', `The previous network was ${network.before}.`, network.at)
  const schema = newest('schema')
  if (schema) warn('schema_changed', 'The input or output schema has changed.', schema.at)
  const { calls, delivered } = listing
  if (calls >= CALLS_MIN && delivered * 5 < calls * 4) {
    warn('often_undelivered', `Only ${delivered} of ${calls} paid calls were delivered.`)
  }
  if (!listing.payable)
    warn('not_payable', 'POST /external cannot pay it; use a client of the seller.')
  if (listing.lastVerifiedAt && listing.lastVerifiedAt < daysBefore(now, 7)) {
    warn('stale', 'No probe has seen a valid offer for a week.', listing.lastVerifiedAt)
  }
  const other = history.sources
    .filter(({ gone }) => !gone)
    .find((one) => contradicts(one.claim, listing))
  if (other && listing.lastVerifiedAt) {
    warn('claims_differ', `${other.source} reports other terms than the seller.`, other.seenAt)
  }
  return cautions
}

/** Returns true if none of a source's offers equals the one that probes have seen. */
function contradicts(claim: unknown, { payTo, price, network }: Listing): boolean {
  if (!isJsonObject(claim) || !Array.isArray(claim['offers'])) return false
  return !claim['offers'].some(
    (offer) =>
      isJsonObject(offer) &&
      offer['pay_to'] === payTo &&
      offer['network'] === network &&
      String(offer['price_microdollars']) === String(price),
  )
}
