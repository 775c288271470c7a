import { isAddress } from 'viem'
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

/**
 * Checks a payment option of either x402 version. A price other than digits is invalid. Metered
 * prices (scheme `upto`) count as not payable: only a probe knows if the hub buys them.
 */
export function checkOffer(entry: unknown): OfferCheck {
  if (!isJsonObject(entry)) return 'malformed_offer'
  const { scheme, asset, payTo } = entry
  if (scheme !== 'exact' && !isMetered(entry)) return 'scheme'
  const network = findNetwork(entry['network'])
  if (!network) return 'network'
  if (network.test) return 'testnet'
  if (!isToken(network, asset)) return 'asset'
  const price = priceOf(entry)
  if (price === undefined) return 'price'
  const payee = checksummedPayee(network, payTo)
  if (payee === undefined) return 'pay_to'
  const isExact = scheme === 'exact'
  const payable = isExact && network.id === USDC_BASE.network && usesEip3009(entry)
  return {
    scheme: isExact ? 'exact' : METERED,
    network: network.id,
    asset: network.usdc!,
    payTo: payee,
    price,
    payable,
  }
}

/** Scheme of a metered price, whose maximum is offered. */
export const METERED = 'upto'

/** Returns true for a maximum that a permit of Permit2 authorizes, for a named facilitator. */
function isMetered(entry: JsonObject): boolean {
  const { assetTransferMethod, facilitatorAddress } = objectMember(entry, 'extra')
  const isNamed = typeof facilitatorAddress === 'string' && isAddress(facilitatorAddress)
  return entry['scheme'] === METERED && assetTransferMethod === 'permit2' && isNamed
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
  const termsOf = ({ scheme, network, payTo, price }: ListedOffer) =>
    [scheme, network, payTo, price].join(' ')
  const distinct = new Map(valid.map((one) => [termsOf(one), one]))
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
  if (a.price !== b.price) return a.price < b.price ? -1 : 1
  return a.scheme === b.scheme ? 0 : a.scheme === 'exact' ? -1 : 1
}
