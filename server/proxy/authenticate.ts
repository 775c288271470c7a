import { Fault } from '../../core/errors.ts'
import type { Caller } from '../../core/identity/keys.ts'
import { networkPrefix } from '../../core/usage/network.ts'
import type { CallDeps } from './call-deps.ts'
import type { AnonymousCaller, CallRequest } from './call-types.ts'

/**
 * Returns the caller. Without a key a caller is anonymous, unless the service requires credits; an
 * invalid key is refused and never treated as none.
 * @throws Fault `invalid_api_key`, `revoked_api_key`, `authentication_limited` or `caller_gone`
 */
export async function authenticate(
  { keys, creditsOnly }: Pick<CallDeps, 'keys' | 'creditsOnly'>,
  { authorization, slug, ip }: CallRequest,
): Promise<Caller | AnonymousCaller> {
  if (authorization !== undefined) {
    return await keys.authenticate(authorization, () => networkPrefix(ip()))
  }
  if (creditsOnly.has(slug)) throw new Fault('invalid_api_key', `"${slug}" requires an API key.`)
  const address = ip()
  // Paid responses are stored for the address that paid; a closed connection has none.
  if (address === '') throw new Fault('caller_gone')
  return { keyId: null, ip: address }
}

/**
 * Counts the request against the limit of the key's tier, or of an anonymous caller's network, and
 * adds the RateLimit headers.
 * @throws Fault `rate_limited`
 */
export async function limitRate(
  { limits, accountStatus }: CallDeps,
  caller: Caller | AnonymousCaller,
  { addHeaders }: CallRequest,
): Promise<void> {
  const rate =
    caller.keyId === null
      ? await limits.address(caller.ip)
      : await limits.key(caller, await accountStatus.tier(caller.credits))
  addHeaders?.(rate.headers)
}
