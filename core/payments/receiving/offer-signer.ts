import type { PaymentRequirements, ResourceInfo } from '@x402/core/types'
import type { JWSSigner, SignedOffer } from '@x402/extensions/offer-receipt'
import type { SigningKey } from '../../crypto/signing-key.ts'
import { LoadingCache } from '../../runtime/cache.ts'

/** Validity of a signed offer; longer than the time for which it is cached. */
const OFFER_SECONDS = 300
const CACHE_MS = 60_000
const CACHE_MAX = 1_000

/** Settled payment and the journal entry of its sale, which a receipt confirms. */
export interface SettledSale {
  readonly resource: string
  readonly network: string
  readonly payer: string
  readonly transaction: string
  readonly amount: bigint
  readonly entry: string
  readonly issuedAt: Date
}

/** DID of a hub by its origin; `/.well-known/did.json` resolves it. */
export const didOf = (origin: string): string =>
  `did:web:${encodeURIComponent(new URL(origin).host)}`

/**
 * Signs offers and receipts with the key that signs the hub's own receipts (x402 extension
 * `offer-receipt`, JWS). An offer is signed once a minute, so that a 402 costs no signature.
 */
export class OfferSigner {
  readonly #key: () => SigningKey
  readonly #origin: () => string
  readonly #offers: LoadingCache<string, SignedOffer>

  constructor(key: () => SigningKey, origin: () => string) {
    this.#key = key
    this.#origin = origin
    this.#offers = new LoadingCache((terms) => this.#sign(terms), {
      ttlMs: CACHE_MS,
      max: CACHE_MAX,
    })
  }

  /** Signs the terms under which a resource is sold: each of those that a payer can accept. */
  async signOffers(
    { url }: ResourceInfo,
    accepts: readonly PaymentRequirements[],
  ): Promise<object> {
    const signing = accepts.map(async (requirement, index) => {
      const terms = JSON.stringify([url, requirement, index])
      return this.#offers.get(terms) ?? (await this.#offers.load(terms))
    })
    return { info: { offers: await Promise.all(signing) } }
  }

  /** Signs a receipt. The same sale has the same receipt until the key is rotated. */
  async signReceipt(sale: SettledSale): Promise<object> {
    const { resource: resourceUrl, network, payer, transaction, amount, entry, issuedAt } = sale
    const payload = {
      version: 1,
      network,
      resourceUrl,
      payer,
      issuedAt: Number(BigInt(issuedAt.getTime()) / 1_000n),
      transaction,
      amount: String(amount),
      entry,
    }
    const { createJWS } = await import('@x402/extensions/offer-receipt') // lazy: slow to load
    const signature = await createJWS(payload, this.#signer())
    return { info: { receipt: { format: 'jws', signature } } }
  }

  async #sign(terms: string): Promise<SignedOffer> {
    const { createOfferJWS } = await import('@x402/extensions/offer-receipt')
    const [url, requirement, acceptIndex] = JSON.parse(terms) as [
      string,
      PaymentRequirements,
      number,
    ]
    const { scheme, network, asset, payTo, amount } = requirement
    const offer = { acceptIndex, scheme, network, asset, payTo, amount }
    return createOfferJWS(url, { ...offer, offerValiditySeconds: OFFER_SECONDS }, this.#signer())
  }

  #signer(): JWSSigner {
    const key = this.#key()
    return {
      kid: `${didOf(this.#origin())}#${key.id}`,
      format: 'jws',
      algorithm: 'EdDSA',
      sign: async (bytes) => key.sign(bytes).toString('base64url'),
    }
  }
}
