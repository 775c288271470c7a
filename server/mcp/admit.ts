import type { Context } from 'koa'
import { Fault } from '../../core/errors.ts'

/** Who may ask at all, before it is known who it is. */
export interface Admission {
  /** Addresses of the hub as callers see it. */
  readonly origins: () => readonly string[]
  /** Further origins of pages and programs that may ask, as they stand in the header. */
  readonly allowed: readonly string[]
}

const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/i
const LOOPBACK_ADDRESS = /^(?:127\.|::1$|::ffff:127\.)/

/**
 * A page of somebody else's in the browser of somebody who runs a hub must not reach it, by its
 * address or by a name that the page has bound to it (DNS rebinding). MCP demands a 403.
 * @throws Fault `origin_not_allowed`
 */
export function assertAdmitted(ctx: Context, { origins, allowed }: Admission): void {
  const { origin, host } = ctx.req.headers
  if (origin !== undefined && !mayAsk(origin, [...origins(), ...allowed])) {
    throw new Fault('origin_not_allowed', 'Pages of this origin may not use the MCP endpoint.')
  }
  if (!LOOPBACK_ADDRESS.test(ctx.req.socket.localAddress ?? '')) return
  if (host === undefined || LOOPBACK.test(host.replace(/:\d+$/, ''))) return
  if (!origins().some((each) => new URL(each).host === host)) {
    throw new Fault('origin_not_allowed', `This hub is not called ${host}.`)
  }
}

const mayAsk = (origin: string, known: readonly string[]): boolean =>
  known.includes(origin) || (/^https?:/.test(origin) && isLoopback(origin))

const isLoopback = (url: string): boolean =>
  URL.canParse(url) && LOOPBACK.test(new URL(url).hostname)
