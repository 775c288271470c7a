import { decodePaymentRequiredHeader } from '@x402/core/http'
import type { SIWxExtension } from '@x402/extensions/sign-in-with-x'
import type { LocalAccount } from 'viem'
import { dollars } from '../money.ts'
import { USDC_BASE } from '../payments/chain/asset.ts'
import { SIGN_IN } from '../payments/receiving/sign-in-challenges.ts'
import { maximumOf } from '../payments/receiving/sign-in-statement.ts'
import type { HubResponse } from './transport.ts'

/**
 * Signs the challenge of a 402, by which the hub spends credits of the wallet on that request, and
 * returns the header for it. Undefined if the 402 has none.
 * @param url requested URL, whose host the challenge must name
 * @param maximum highest price that is signed, in microdollars
 * @throws Error if the challenge is for another host, or allows more than the maximum
 */
export async function createSignInHeader(
  account: LocalAccount,
  { headers }: Pick<HubResponse, 'headers'>,
  url: URL,
  maximum: bigint,
): Promise<Readonly<Record<string, string>> | undefined> {
  const { extensions } = decodePaymentRequiredHeader(String(headers['payment-required']))
  const challenge = extensions?.[SIGN_IN] as SIWxExtension | undefined
  if (!challenge) return undefined
  const { info, supportedChains } = challenge
  if (info.domain !== url.host || new URL(info.uri).host !== url.host) {
    throw new Error('The challenge names another host, so it was not signed.')
  }
  const allowed = maximumOf(info.statement)
  if (allowed === undefined || allowed > maximum) {
    const limit = `The challenge allows ${allowed === undefined ? 'any price' : dollars(allowed)}`
    throw new Error(`${limit}, more than ${dollars(maximum)} USD, so it was not signed.`)
  }
  const chain = supportedChains.find(({ chainId }) => chainId === USDC_BASE.network)
  if (!chain) throw new Error('The challenge is for another chain, so it was not signed.')
  const { createSIWxPayload, encodeSIWxHeader } = await import('@x402/extensions/sign-in-with-x')
  const signed = await createSIWxPayload({ ...info, ...chain }, account, url)
  return { [SIGN_IN]: encodeSIWxHeader(signed) }
}
