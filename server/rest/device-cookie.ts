import { type BrowserTokens, DEVICE_DAYS } from '../../core/identity/devices.ts'
import { sessionCookie, sessionCookieName } from './authentication.ts'
import { buildCookie, cookieName, DAY_SECONDS } from './cookie.ts'

const DEVICE = 'device'

/** Builds the cookie by which a browser is known after it has signed in once. */
const deviceCookie = (baseUrl: string, token: string): string =>
  buildCookie(baseUrl, { name: DEVICE, value: token, seconds: DEVICE_DAYS * DAY_SECONDS })

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
  return {
    device: pairs.get(cookieName(baseUrl, DEVICE)),
    session: pairs.get(sessionCookieName(baseUrl)),
  }
}
