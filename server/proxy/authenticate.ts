import { Fault } from '../../core/errors.ts'
import type { Caller } from '../../core/identity/keys.ts'
import { networkPrefix } from '../../core/usage/network.ts'
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
export async function authenticate(
  { keys, signIns }: Pick<CallDeps, 'keys' | 'signIns'>,
  request: CallRequest,
): Promise<Caller | AnonymousCaller> {
  const { authorization, ip } = request
  if (authorization !== undefined) {
    return await keys.authenticate(authorization, () => networkPrefix(ip()))
  }
  const signedIn =
    request.signIn === undefined ? undefined : await signIn(signIns, request.signIn, request)
  if (typeof signedIn === 'object') return signedIn
  const address = ip()
  // Paid responses are stored for the address that paid; a closed connection has none.
  if (address === '') throw new Fault('caller_gone')
  return { keyId: null, ip: address, ...(signedIn && { signInRefusal: signedIn }) }
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
