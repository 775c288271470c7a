import { daysBefore } from '../../clock.ts'
import { isJsonObject } from '../../json.ts'
import type { Change, External, ExternalHistory } from './find-listings.ts'

/** Something to think about before one pays. */
export interface Caution {
  readonly code: string
  readonly message: string
  readonly since: Date | null
}

const DAYS = 30
const PAID_OFTEN = 3

/** What speaks against a listing, as far as the hub has seen. Pure. */
export function cautionsOf(listing: External, history: ExternalHistory, now: Date): Caution[] {
  const since = daysBefore(now, DAYS)
  const seen = history.changes.filter(({ verified, at }) => verified && at > since)
  const newest = (field: Change['field']) =>
    seen.find((change) => change.field === field && change.before !== null)
  const cautions: Caution[] = []
  const warn = (code: string, message: string, at: Date | null = null): void => {
    cautions.push({ code, message, since: at })
  }
  const payTo = newest('pay_to')
  if (payTo) warn('pay_to_changed', `It was ${payTo.before} that was paid before.`, payTo.at)
  const price = newest('price')
  if (price?.before && BigInt(price.after) > BigInt(price.before)) {
    warn('price_raised', `It cost ${price.before} microdollars before.`, price.at)
  }
  const network = newest('network')
  if (network) warn('network_changed', `It was sold on ${network.before} before.`, network.at)
  const schema = newest('schema')
  if (schema)
    warn('schema_changed', 'It is called, or answers, in another way than before.', schema.at)
  const { calls, delivered } = listing
  if (calls >= PAID_OFTEN && delivered * 5 < calls * 4) {
    warn('often_undelivered', `Of ${calls} paid calls ${delivered} were delivered.`)
  }
  if (!listing.payable) warn('not_payable', 'POST /external does not pay it; its own clients do.')
  if (listing.lastVerifiedAt && listing.lastVerifiedAt < daysBefore(now, 7)) {
    warn('stale', 'No valid offer was seen for a week.', listing.lastVerifiedAt)
  }
  const other = history.sources
    .filter(({ gone }) => !gone)
    .find((one) => disagrees(one.claim, listing))
  if (other && listing.lastVerifiedAt) {
    warn('claims_differ', `${other.source} names other terms than the seller itself.`, other.seenAt)
  }
  return cautions
}

/** Whether a source names no offer that is like the one that was seen. */
function disagrees(claim: unknown, { payTo, price, network }: External): boolean {
  if (!isJsonObject(claim) || !Array.isArray(claim['offers'])) return false
  return !claim['offers'].some(
    (offer) =>
      isJsonObject(offer) &&
      offer['pay_to'] === payTo &&
      offer['network'] === network &&
      String(offer['price_microdollars']) === String(price),
  )
}
