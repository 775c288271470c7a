import type { Context } from 'koa'

/**
 * What a page shows once and never again, such as the secret of a new key: it waits in a cookie
 * of the browser that it is for, from the form to the page that follows, where no script reads it.
 * The hub itself keeps it nowhere.
 */
const SECONDS = 60
const LENGTH_MAX = 3_000

const nameOf = (baseUrl: string): string =>
  baseUrl.startsWith('https:') ? '__Host-hub_once' : 'hub_once'

const attributes = (baseUrl: string, seconds: number): string =>
  `Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Strict${
    baseUrl.startsWith('https:') ? '; Secure' : ''
  }`

/** Hands a text over to the page at `to`. */
export function handOver(ctx: Context, baseUrl: string, to: string, text: string): void {
  const value = Buffer.from(JSON.stringify([pathOf(to), text])).toString('base64url')
  if (value.length > LENGTH_MAX) throw new RangeError('too long for a cookie')
  ctx.append('Set-Cookie', `${nameOf(baseUrl)}=${value}; ${attributes(baseUrl, SECONDS)}`)
}

/** What was handed over to this page, if anything was; it is gone then. */
export function takeOver(ctx: Context, baseUrl: string): string | undefined {
  const value = ctx.cookies.get(nameOf(baseUrl))
  if (value === undefined) return undefined
  const [path, text] = read(value)
  if (path !== ctx.path || typeof text !== 'string') return undefined
  ctx.append('Set-Cookie', `${nameOf(baseUrl)}=; ${attributes(baseUrl, 0)}`)
  return text
}

function read(value: string): readonly unknown[] {
  try {
    const found: unknown = JSON.parse(Buffer.from(value, 'base64url').toString())
    return Array.isArray(found) ? found : []
  } catch {
    return []
  }
}

const pathOf = (to: string): string => to.split(/[?#]/)[0] ?? to
