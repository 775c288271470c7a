import type { PrivateKeyAccount } from 'viem/accounts'
import { HubClient, usd } from '../../../core/client/index.ts'
import { createSignInHeader } from '../../../core/client/sign-in.ts'
import { systemClock } from '../../../core/clock.ts'
import { parseMppOffer } from '../../../core/payments/paying/mpp-offer.ts'
import { chooseTerms, type Terms } from '../../../core/payments/paying/terms.ts'
import { signPayment } from '../../../core/payments/paying/x402-client.ts'
import { ask402, FUNDING_MICROS, LIFETIME_SECONDS, PATH, sign } from './buyers.ts'

/** Headers that pay one request. */
type PaidHeaders = Readonly<Record<string, string>>

/** Prepares the payments of `count` requests, with the wallets in turn, before the clock starts. */
export type Payer = (
  wallets: readonly PrivateKeyAccount[],
  count: number,
) => Promise<readonly PaidHeaders[]>

/** Pays by x402 (scheme `exact`). */
export const x402Payer =
  (terms: Terms): Payer =>
  async (wallets, count) =>
    (await sign(wallets, terms, count)).map((payment) => ({ 'payment-signature': payment }))

/** Pays by MPP: each payment answers a challenge of its own. */
export const mppPayer =
  (server: string): Payer =>
  (wallets, count) =>
    eachInTurn(wallets, count, async (wallet) => {
      const now = systemClock.now()
      const offer = parseMppOffer(await ask402(server), now)
      if (!offer) throw new Error(`${server} offers no MPP`)
      const policy = { host: new URL(server).hostname, maxAmount: FUNDING_MICROS, ownWallets: [] }
      const terms = chooseTerms(offer, policy)
      const { header } = await signPayment(wallet, terms, now, LIFETIME_SECONDS)
      return { [header.name.toLowerCase()]: header.value }
    })

/** Spends credits of the wallets by signed challenges, each for one request. */
export const signInPayer =
  (server: string): Payer =>
  (wallets, count) =>
    eachInTurn(wallets, count, async (wallet) => {
      const { headers } = await ask402(server)
      const offer = { headers: headers as Record<string, string> }
      const url = new URL(PATH, server)
      const signed = await createSignInHeader(wallet, offer, url, FUNDING_MICROS)
      if (!signed) throw new Error(`${server} offers no challenge`)
      return signed
    })

/** Spends the same credits by the keys of the wallets. */
export const keyPayer =
  (keys: ReadonlyMap<PrivateKeyAccount, string>): Payer =>
  (wallets, count) =>
    eachInTurn(wallets, count, async (wallet) => ({
      authorization: `Bearer ${keys.get(wallet)}`,
    }))

/** Registers the wallets and buys credits for them. @returns their keys */
export async function buyCredits(
  server: string,
  wallets: readonly PrivateKeyAccount[],
): Promise<ReadonlyMap<PrivateKeyAccount, string>> {
  const keys = new Map<PrivateKeyAccount, string>()
  for (const account of wallets) {
    const hub = new HubClient({ baseUrl: server, wallet: { account, sandbox: true } })
    const { client, apiKey } = await hub.register()
    await client.purchase(usd('5'))
    keys.set(account, apiKey)
  }
  return keys
}

/** Requests made at a time while payments are prepared. */
const CONCURRENCY = 16

async function eachInTurn(
  wallets: readonly PrivateKeyAccount[],
  count: number,
  prepare: (wallet: PrivateKeyAccount) => Promise<PaidHeaders>,
): Promise<readonly PaidHeaders[]> {
  const prepared: PaidHeaders[] = []
  while (prepared.length < count) {
    const size = Math.min(CONCURRENCY, count - prepared.length)
    const some = Array.from({ length: size }, (_, i) =>
      prepare(wallets[(prepared.length + i) % wallets.length]!),
    )
    prepared.push(...(await Promise.all(some)))
  }
  return prepared
}
