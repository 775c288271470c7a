import type { Context } from 'koa'

/** One-time secret for the next page, in an HttpOnly cookie; the hub does not store it. */
const LIFETIME_SECONDS = 60
const MAX_LENGTH = 3_000

const cookieName = (baseUrl: string): string =>
  baseUrl.startsWith('https:') ? '__Host-hub_once' : 'hub_once'

const cookieAttributes = (baseUrl: string, seconds: number): string =>
  `Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Strict${
    baseUrl.startsWith('https:') ? '; Secure' : ''
  }`

/** Sets a secret for the page at `to`. */
export function setSecretCookie(ctx: Context, baseUrl: string, to: string, secret: string): void {
  const value = Buffer.from(JSON.stringify([pathOf(to), secret])).toString('base64url')
  if (value.length > MAX_LENGTH) throw new RangeError('the secret is too long for a cookie')
  const attributes = cookieAttributes(baseUrl, LIFETIME_SECONDS)
  ctx.append('Set-Cookie', `${cookieName(baseUrl)}=${value}; ${attributes}`)
}

/** Returns the secret for this page, if there is one, and deletes the cookie. */
export function takeSecretCookie(ctx: Context, baseUrl: string): string | undefined {
  const value = ctx.cookies.get(cookieName(baseUrl))
  if (value === undefined) return undefined
  const [path, secret] = decodeSecret(value)
  if (path !== ctx.path || typeof secret !== 'string') return undefined
  ctx.append('Set-Cookie', `${cookieName(baseUrl)}=; ${cookieAttributes(baseUrl, 0)}`)
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
