import type { Context } from 'koa'
import { buildCookie, cookieName } from '../rest/cookie.ts'

const SECRET = 'once'

/** One-time secret for the next page, in an HttpOnly cookie; the hub does not store it. */
const LIFETIME_SECONDS = 60
const MAX_LENGTH = 3_000

const cookieOf = (baseUrl: string, value: string, seconds: number): string =>
  buildCookie(baseUrl, { name: SECRET, value, seconds, sameSite: 'Strict' })

/** Sets a secret for the page at `to`. */
export function setSecretCookie(ctx: Context, baseUrl: string, to: string, secret: string): void {
  const value = Buffer.from(JSON.stringify([pathOf(to), secret])).toString('base64url')
  if (value.length > MAX_LENGTH) throw new RangeError('the secret is too long for a cookie')
  ctx.append('Set-Cookie', cookieOf(baseUrl, value, LIFETIME_SECONDS))
}

/** Returns the secret for this page, if there is one, and deletes the cookie. */
export function takeSecretCookie(ctx: Context, baseUrl: string): string | undefined {
  const value = ctx.cookies.get(cookieName(baseUrl, SECRET))
  if (value === undefined) return undefined
  const [path, secret] = decodeSecret(value)
  if (path !== ctx.path || typeof secret !== 'string') return undefined
  ctx.append('Set-Cookie', cookieOf(baseUrl, '', 0))
  return secret
}

function decodeSecret(value: string): readonly unknown[] {
  try {
    const decoded: unknown = JSON.parse(Buffer.from(value, 'base64url').toString())
    return Array.isArray(decoded) ? decoded : []
  } catch {
    return []
  }
}

const pathOf = (to: string): string => to.split(/[?#]/)[0] ?? to
