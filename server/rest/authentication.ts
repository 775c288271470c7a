import type { Context } from 'koa'
import type { Pool } from 'pg'
import { Fault } from '../../core/errors.ts'
import type { CredentialGate } from '../../core/identity/credential-gate.ts'
import type { Caller, KeyRing, ProviderCaller } from '../../core/identity/keys.ts'
import {
  findSession,
  hashToken,
  SESSION_DAYS,
  type Session,
  type StaffSessionRules,
} from '../../core/identity/sessions.ts'
import { limitWait } from '../../core/ledger/retry.ts'
import { networkPrefix } from '../../core/usage/network.ts'
import { readAuthorization, readSingleHeader } from '../http/exchange.ts'
import { buildCookie, cookieName, DAY_SECONDS } from './cookie.ts'
import type { AnyRoute } from './route.ts'

/** Authenticated identity of a request. A key takes precedence over a session cookie. */
export interface RequestIdentity {
  readonly caller?: Caller | undefined
  /** Set if the key is a provider key. */
  readonly providerCaller?: ProviderCaller | undefined
  readonly session?: Session | undefined
}

export interface SessionDeps extends StaffSessionRules {
  readonly pool: Pool
  /** Limits lookups of unknown cookies. */
  readonly sessionGate: Pick<CredentialGate, 'find'>
  readonly baseUrl: () => string
}

export interface AuthenticationDeps extends SessionDeps {
  readonly keys: KeyRing
}

/**
 * Authenticates a request by the credentials that the route accepts.
 * @throws Fault `invalid_api_key`, `revoked_api_key`, `frozen_key`, `provider_key`,
 *   `authentication_limited`, `session_required`, `origin_not_allowed`
 */
export async function authenticate(
  ctx: Context,
  { auth, method, acceptsForm }: AnyRoute,
  deps: AuthenticationDeps,
): Promise<RequestIdentity> {
  const { keys, baseUrl } = deps
  const authorization = readAuthorization(ctx)
  if (acceptsForm) assertSameOrigin(ctx, baseUrl())
  if (auth === 'none') return {}
  const acceptsKey = auth !== 'session'
  const acceptsSession = auth !== 'key'
  const cookie = ctx.cookies.get(sessionCookieName(baseUrl()))
  if (acceptsKey && (authorization !== undefined || !acceptsSession || cookie === undefined)) {
    const network = (): string => networkPrefix(ctx.ip)
    if (auth !== 'provider')
      return { caller: await keys.authenticate(authorization ?? '', network) }
    const holder = await keys.identify(authorization ?? '', network)
    return 'role' in holder ? { providerCaller: holder } : { caller: holder }
  }
  if (method !== 'GET') assertSameOrigin(ctx, baseUrl())
  const session = await sessionFromCookie(ctx, deps)
  if (!session) throw new Fault('session_required')
  return { session }
}

/** Finds the session of the browser's cookie. @throws Fault `authentication_limited` */
export async function sessionFromCookie(
  ctx: Context,
  { pool, sessionGate, baseUrl, admins, staff }: SessionDeps,
): Promise<Session | undefined> {
  const cookie = ctx.cookies.get(sessionCookieName(baseUrl()))
  if (cookie === undefined) return undefined
  const load = () => findSession(pool, cookie, { admins, staff })
  return limitWait(sessionGate.find(hashToken(cookie), networkPrefix(ctx.ip), load))
}

/**
 * Protects against CSRF: browsers send cookies with requests of other sites too, and name the site
 * in `Origin` or `Sec-Fetch-Site` (Fetch standard). Requests with neither header do not come from a
 * browser and are allowed.
 * @throws Fault `origin_not_allowed`
 */
export function assertSameOrigin(ctx: Context, baseUrl: string): void {
  const origin = readSingleHeader(ctx, 'origin')
  const site = readSingleHeader(ctx, 'sec-fetch-site') ?? 'same-origin'
  const isOwn =
    origin === undefined
      ? site === 'same-origin' || site === 'none'
      : normalizeLoopback(origin) === normalizeLoopback(baseUrl)
  if (!isOwn) throw new Fault('origin_not_allowed')
}

/** Treats `localhost` and `[::1]` as `127.0.0.1`. */
const normalizeLoopback = (origin: string): string =>
  origin.replace(/^http:\/\/(localhost|\[::1\])(?=:|$)/, 'http://127.0.0.1')

const SESSION = 'session'

/** Builds the `Set-Cookie` value of a session. @param token null to delete the cookie */
export const sessionCookie = (baseUrl: string, token: string | null): string =>
  buildCookie(baseUrl, {
    name: SESSION,
    value: token ?? '',
    seconds: token === null ? 0 : SESSION_DAYS * DAY_SECONDS,
  })

export const sessionCookieName = (baseUrl: string): string => cookieName(baseUrl, SESSION)
