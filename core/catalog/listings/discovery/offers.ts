import { isJsonObject, type JsonObject, objectMember } from '../../../json.ts'
import { type Micros, micros } from '../../../money.ts'
import { USDC_BASE } from '../../../payments/chain/asset.ts'
import type { Reason } from '../reasons.ts'
import type { ListedOffer } from '../store.ts'
import { checksummedPayee, findNetwork, isToken } from './networks.ts'

/** 10,000 USD; a higher price per request must be in another unit. */
const PRICE_MAX = 10_000_000_000n
const ENTRIES_MAX = 100
const DIGITS = /^[1-9]\d{0,30}$/

/** Reasons in the order of the checks; an offer with a later reason passed more of them. */
const REASONS_BY_PROGRESS: readonly Reason[] = [
  'no_offer',
  'malformed_offer',
  'scheme',
  'network',
  'testnet',
  'asset',
  'price',
  'pay_to',
]

/** Valid entry of `accepts`, or the reason why it is invalid. */
export type OfferCheck = ListedOffer | Reason

export type NonEmptyOffers = readonly [ListedOffer, ...ListedOffer[]]

/** Checks a payment option of either x402 version. A price other than digits is invalid. */
export function checkOffer(entry: unknown): OfferCheck {
  if (!isJsonObject(entry)) return 'malformed_offer'
  const { scheme, asset, payTo } = entry
  if (scheme !== 'exact') return 'scheme'
  const network = findNetwork(entry['network'])
  if (!network) return 'network'
  if (network.test) return 'testnet'
  if (!isToken(network, asset)) return 'asset'
  const price = priceOf(entry)
  if (price === undefined) return 'price'
  const payee = checksummedPayee(network, payTo)
  if (payee === undefined) return 'pay_to'
  const payable = network.id === USDC_BASE.network && usesEip3009(entry)
  return { scheme, network: network.id, asset: network.usdc!, payTo: payee, price, payable }
}

function priceOf(entry: JsonObject): Micros | undefined {
  const { amount, maxAmountRequired } = entry
  const named = [amount, maxAmountRequired].filter((one) => one !== undefined && one !== null)
  const [price] = named
  if (typeof price !== 'string' || !DIGITS.test(price)) return undefined
  if (named.some((one) => one !== price) || BigInt(price) > PRICE_MAX) return undefined
  return micros(BigInt(price))
}

/** Returns true if the offer is payable by an EIP-3009 signature, which is the default. */
function usesEip3009(entry: JsonObject): boolean {
  const extra = objectMember(entry, 'extra')
  return (extra['assetTransferMethod'] ?? 'eip3009') === 'eip3009'
}

/** Returns the distinct valid offers, payable and cheap ones first, or the best one's reason. */
export function checkOffers(accepts: unknown): NonEmptyOffers | Reason {
  if (!Array.isArray(accepts) || accepts.length === 0) return 'no_offer'
  if (accepts.length > ENTRIES_MAX) return 'malformed_offer'
  const checks = accepts.map(checkOffer)
  const valid = checks.filter((one) => typeof one !== 'string').sort(byPreference)
  const distinct = new Map(valid.map((one) => [`${one.network} ${one.payTo} ${one.price}`, one]))
  const [first, ...rest] = distinct.values()
  if (first) return [first, ...rest]
  return checks
    .filter((one) => typeof one === 'string')
    .reduce(
      (best, one) =>
        REASONS_BY_PROGRESS.indexOf(one) > REASONS_BY_PROGRESS.indexOf(best) ? one : best,
      'no_offer',
    )
}

function byPreference(a: ListedOffer, b: ListedOffer): number {
  if (a.payable !== b.payable) return a.payable ? -1 : 1
  return a.price === b.price ? 0 : a.price < b.price ? -1 : 1
}
