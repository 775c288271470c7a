import { Fault } from '../../core/errors.ts'
import type { Caller } from '../../core/identity/keys.ts'
import { networkPrefix } from '../../core/usage/network.ts'
import type { RateState } from '../../core/usage/rate-limit.ts'
import type { CallDeps } from './call-deps.ts'
import type { AnonymousCaller, CallRequest } from './call-types.ts'
import { signIn } from './sign-in.ts'

/**
 * Returns the caller: by the key, or by a challenge that a wallet signed. Otherwise a caller is
 * anonymous. An invalid key is refused. A refused sign-in makes the caller anonymous, and the 402
 * states the reason.
 * @throws Fault `invalid_api_key`, `revoked_api_key`, `frozen_key`, `authentication_limited` or
 *   `caller_gone`
 */
export function authenticate(
  { keys, signIns }: Pick<CallDeps, 'keys' | 'signIns'>,
  request: CallRequest,
): Promise<Caller | AnonymousCaller> {
  const { authorization, ip } = request
  return authorization === undefined
    ? identifyKeyless(signIns, request)
    : keys.authenticate(authorization, () => networkPrefix(ip()))
}

async function identifyKeyless(
  signIns: CallDeps['signIns'],
  request: CallRequest,
): Promise<Caller | AnonymousCaller> {
  const signedIn =
    request.signIn === undefined ? undefined : await signIn(signIns, request.signIn, request)
  if (typeof signedIn === 'object') return signedIn
  const address = request.ip()
  // Paid responses are stored for the address that paid; a closed connection has none.
  if (address === '') throw new Fault('caller_gone')
  return { keyId: null, ip: address, ...(signedIn && { signInRefusal: signedIn }) }
}

/**
 * Counts the request against the limit of the key's tier, or of an anonymous caller's network.
 * Returns the RateLimit headers.
 * @throws Fault `rate_limited`
 */
export function limitRate(
  { limits, accountStatus }: CallDeps,
  caller: Caller | AnonymousCaller,
): Promise<RateState> {
  if (caller.keyId === null) return limits.address(caller.ip)
  const tier = accountStatus.tier(caller.credits)
  return typeof tier === 'string'
    ? limits.key(caller, tier)
    : tier.then((known) => limits.key(caller, known))
}
