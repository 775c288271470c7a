import type { Context } from 'koa'
import type { Pool } from 'pg'
import { Fault } from '../../core/errors.ts'
import type { Caller, KeyRing, Seller } from '../../core/identity/keys.ts'
import { findSession, SESSION_DAYS, type Session } from '../../core/identity/sessions.ts'
import { authorizationOf, header } from '../http/exchange.ts'
import type { AnyRoute } from './route.ts'

/** Who asks. A key that is shown counts, and not the cookie beside it. */
export interface Visitor {
  readonly caller?: Caller | undefined
  /** Who shows a key of a provider. */
  readonly seller?: Seller | undefined
  readonly session?: Session | undefined
}

export interface VisitorPorts {
  readonly pool: Pool
  readonly keys: KeyRing
  /** What callers see as our address. */
  readonly baseUrl: () => string
}

/**
 * Who asks, as the route wants to know it.
 * @throws Fault `invalid_api_key`, `revoked_api_key`, `frozen_key`, `provider_key`,
 *   `session_required`, `origin_not_allowed`
 */
export async function visitorOf(
  ctx: Context,
  { auth, method, form }: AnyRoute,
  { pool, keys, baseUrl }: VisitorPorts,
): Promise<Visitor> {
  const authorization = authorizationOf(ctx)
  if (form) assertOwnSite(ctx, baseUrl())
  if (auth === 'none') return {}
  const takesKey = auth !== 'session'
  const takesSession = auth !== 'key'
  const cookie = ctx.cookies.get(cookieName(baseUrl()))
  if (takesKey && (authorization !== undefined || !takesSession || cookie === undefined)) {
    if (auth !== 'provider') return { caller: await keys.authenticate(authorization ?? '') }
    const holder = await keys.identify(authorization ?? '')
    return 'role' in holder ? { seller: holder } : { caller: holder }
  }
  if (method !== 'GET') assertOwnSite(ctx, baseUrl())
  const session = await sessionOn(ctx, pool, baseUrl())
  if (!session) throw new Fault('session_required')
  return { session }
}

/** Who is signed in in this browser. */
export async function sessionOn(
  ctx: Context,
  pool: Pool,
  baseUrl: string,
): Promise<Session | undefined> {
  const cookie = ctx.cookies.get(cookieName(baseUrl))
  return cookie === undefined ? undefined : findSession(pool, cookie)
}

/**
 * A cookie comes along with whatever a browser sends, also on behalf of another site. Browsers say
 * which (Fetch standard); what is no browser keeps no cookies that it did not ask for.
 */
export function assertOwnSite(ctx: Context, baseUrl: string): void {
  const origin = header(ctx, 'origin')
  const site = header(ctx, 'sec-fetch-site') ?? 'same-origin'
  const isOwn =
    origin === undefined
      ? site === 'same-origin' || site === 'none'
      : plainHost(origin) === plainHost(baseUrl)
  if (!isOwn) throw new Fault('origin_not_allowed')
}

/** A hub on this machine is the same by either name of it. */
const plainHost = (origin: string): string =>
  origin.replace(/^http:\/\/(localhost|\[::1\])(?=:|$)/, 'http://127.0.0.1')

const isSecure = (baseUrl: string): boolean => baseUrl.startsWith('https:')

/** With the prefix, browsers take it from this host alone, by TLS alone (RFC 6265bis §4.1.3.2). */
const cookieName = (baseUrl: string): string =>
  isSecure(baseUrl) ? '__Host-hub_session' : 'hub_session'

const DAY_SECONDS = 86_400

/** Lets the browser keep a session, or forget it. @param token null: forget it */
export function sessionCookie(baseUrl: string, token: string | null): string {
  const parts = [
    `${cookieName(baseUrl)}=${token ?? ''}`,
    'Path=/',
    `Max-Age=${token === null ? 0 : SESSION_DAYS * DAY_SECONDS}`,
    'HttpOnly',
    'SameSite=Lax',
    ...(isSecure(baseUrl) ? ['Secure'] : []),
  ]
  return parts.join('; ')
}
