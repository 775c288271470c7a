import { type BrowserTokens, DEVICE_DAYS } from '../../core/identity/devices.ts'
import { cookieName, sessionCookie } from './authentication.ts'

const DAY_SECONDS = 86_400

const deviceCookieName = (baseUrl: string): string =>
  baseUrl.startsWith('https:') ? '__Host-hub_device' : 'hub_device'

/** Builds the cookie by which a browser is known after it has signed in once. */
const deviceCookie = (baseUrl: string, token: string): string =>
  `${deviceCookieName(baseUrl)}=${token}; Path=/; Max-Age=${DEVICE_DAYS * DAY_SECONDS}; HttpOnly` +
  `; SameSite=Lax${baseUrl.startsWith('https:') ? '; Secure' : ''}`

/** Builds the `Set-Cookie` values after a sign-in. */
export const signInCookies = (
  baseUrl: string,
  { token, device }: { readonly token: string; readonly device: string },
): string[] => [sessionCookie(baseUrl, token), deviceCookie(baseUrl, device)]

/** Reads the cookies of device and session from a `Cookie` header. */
export function readBrowserTokens(header: string | undefined, baseUrl: string): BrowserTokens {
  const pairs = new Map(
    (header ?? '').split('; ').map((pair) => {
      const [name = '', value = ''] = pair.split('=')
      return [name, /^[\w-]{43}$/.test(value) ? value : undefined]
    }),
  )
  return { device: pairs.get(deviceCookieName(baseUrl)), session: pairs.get(cookieName(baseUrl)) }
}
