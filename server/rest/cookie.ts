const isSecure = (baseUrl: string): boolean => baseUrl.startsWith('https:')

/** The `__Host-` prefix restricts the cookie to this host and to TLS (RFC 6265bis §4.1.3.2). */
export const cookieName = (baseUrl: string, name: string): string =>
  `${isSecure(baseUrl) ? '__Host-' : ''}hub_${name}`

interface Cookie {
  readonly name: string
  readonly value: string
  /** Lifetime; 0 deletes the cookie. */
  readonly seconds: number
  readonly sameSite?: 'Lax' | 'Strict'
}

/** Builds the `Set-Cookie` value of a cookie that scripts cannot read. */
export function buildCookie(
  baseUrl: string,
  { name, value, seconds, sameSite = 'Lax' }: Cookie,
): string {
  const parts = [
    `${cookieName(baseUrl, name)}=${value}`,
    'Path=/',
    `Max-Age=${seconds}`,
    'HttpOnly',
    `SameSite=${sameSite}`,
    ...(isSecure(baseUrl) ? ['Secure'] : []),
  ]
  return parts.join('; ')
}

export const DAY_SECONDS = 86_400
