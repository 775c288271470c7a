import type { Session } from '../../core/identity/sessions.ts'
import { handleRoute } from './handle-route.ts'
import { type AnyRoute, assertNames, parse, type RestReply } from './route.ts'
import { findStaff, requiredRole, runAsStaff, type StaffDeps } from './staff.ts'

/** Visitor on whose behalf a web page calls REST routes. */
export interface InProcessCaller {
  readonly session: Session | undefined
  readonly ip: string
  readonly requestId: string
  /** `Cookie` header of the visitor. */
  readonly cookies?: string | undefined
  /** Called with each reply. */
  readonly onReply?: (reply: RestReply) => void
}

export interface InProcessInput {
  readonly params?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, string | undefined>>
  readonly body?: unknown
  /** Headers by name in lower case, such as a payment. */
  readonly headers?: Readonly<Record<string, string>>
}

/** Calls a REST route, such as `api('GET /v1/keys/{id}', { params })`. @throws Fault like it */
export type InProcessApi = <T>(route: string, input?: InProcessInput) => Promise<T>

/** REST routes for web pages, with the checks of HTTP, except routes that require a key. */
export function inProcessApi(
  routes: readonly AnyRoute[],
  baseUrl: () => string,
  deps: StaffDeps,
): (caller: InProcessCaller) => InProcessApi {
  const routesByName = new Map(routes.map((route) => [`${route.method} ${route.path}`, route]))
  return (caller) => {
    let staffLookup: ReturnType<typeof findStaff> | undefined
    return async <T>(name: string, input: InProcessInput = {}) => {
      const { params = {}, query = {}, body = {}, headers = {} } = input
      const route = routesByName.get(name)
      if (!route) throw new TypeError(`no such route: ${name}`)
      if (route.auth === 'key') throw new TypeError(`route requires an API key: ${name}`)
      assertNames(params)
      const staff = requiredRole(route) && (await (staffLookup ??= findStaff(caller, caller, deps)))
      const filledQuery = Object.fromEntries(
        Object.entries(query).filter(([, value]) => value !== undefined && value !== ''),
      ) as Record<string, string>
      const url = new URL(fillPath(route.path, params), baseUrl())
      url.search = new URLSearchParams(filledQuery).toString()
      const handle = async (): Promise<RestReply> => {
        return handleRoute(route, {
          requestId: caller.requestId,
          url: url.href,
          ip: caller.ip,
          params,
          body: route.body && parse(route.body, body),
          query: route.query && parse(route.query, filledQuery),
          caller: undefined,
          session: caller.session,
          staff,
          header: (header) =>
            header === 'cookie' ? caller.cookies : headers[header.toLowerCase()],
        })
      }
      const request = { path: url.pathname, identity: caller, staff }
      const reply = await runAsStaff(route, request, deps, handle)
      caller.onReply?.(reply)
      return reply.body as T
    }
  }
}

const fillPath = (path: string, params: Readonly<Record<string, string>>): string =>
  path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name] ?? ''))
