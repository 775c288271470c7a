import { Fault } from '../../core/errors.ts'
import type { Caller, KeyRing } from '../../core/identity/keys.ts'
import type { Standing } from '../../core/usage/account-status.ts'
import type { RateLimits } from '../../core/usage/rate-limit.ts'
import type { CallRequest, Keyless } from './call.ts'

/**
 * Who calls. Without a key one may still read an offer or pay by x402, on services that the
 * predicate admits; a wrong key is refused, never treated as none.
 */
export const createAuthenticate =
  (keys: KeyRing, needsKey: (slug: string) => boolean) =>
  async ({ authorization, slug, ip }: CallRequest): Promise<Caller | Keyless> => {
    if (authorization !== undefined) return await keys.authenticate(authorization)
    if (needsKey(slug)) {
      throw new Fault('invalid_api_key', `"${slug}" needs an API key.`)
    }
    const address = ip()
    // What is paid is kept for the one at this address, and nobody is at none.
    if (address === '') throw new Fault('caller_gone')
    return { keyId: null, ip: address }
  }

/**
 * Counts the request against the key's tier, or against the address of one without a key, and has
 * the answer say so.
 */
export const createLimitRate =
  (limits: RateLimits, standing: Standing) =>
  async (caller: Caller | Keyless, { early }: Pick<CallRequest, 'early'>): Promise<void> => {
    const rate =
      caller.keyId === null
        ? await limits.address(caller.ip)
        : await limits.key(caller, await standing.tier(caller.credits))
    early?.(rate.headers)
  }
