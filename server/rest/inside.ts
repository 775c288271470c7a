import type { Session } from '../../core/identity/sessions.ts'
import { type AnyRoute, assertNames, parse, type RestReply } from './route.ts'
import { assertRole, findStaff, neededRole, type StaffPorts } from './staff.ts'

/** Somebody for whom a page of the hub asks. */
export interface Asker {
  readonly session: Session | undefined
  readonly ip: string
  readonly requestId: string
}

export interface Asked {
  readonly params?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, string | undefined>>
  readonly body?: unknown
}

/**
 * Asks a route of REST from within: `ask('GET /v1/keys/{id}', { params })`. The answer is of the
 * schema that the route declares.
 * @throws Fault, as the route does
 */
export type Inside = <T>(route: string, asked?: Asked) => Promise<T>

/**
 * The routes of REST, for the pages of the hub: what a page shows and does is what a program would
 * be shown and may do, by the same checks, and by the role of whoever is signed in. Routes for keys
 * alone are not asked in this way.
 */
export function inside(
  routes: readonly AnyRoute[],
  baseUrl: () => string,
  ports: StaffPorts,
): (asker: Asker) => Inside {
  const known = new Map(routes.map((route) => [`${route.method} ${route.path}`, route]))
  return (asker) => {
    let whoAsks: ReturnType<typeof findStaff> | undefined
    return async <T>(name: string, { params = {}, query = {}, body = {} }: Asked = {}) => {
      const route = known.get(name)
      if (!route) throw new TypeError(`no such route: ${name}`)
      if (route.auth === 'key') throw new TypeError(`not for pages of people: ${name}`)
      assertNames(params)
      const needed = neededRole(route)
      const staff = needed && assertRole(needed, await (whoAsks ??= findStaff(asker, asker, ports)))
      const asked = Object.fromEntries(
        Object.entries(query).filter(([, value]) => value !== undefined && value !== ''),
      ) as Record<string, string>
      const url = new URL(filled(route.path, params), baseUrl())
      url.search = new URLSearchParams(asked).toString()
      const reply: RestReply = await route.handle({
        requestId: asker.requestId,
        url: url.href,
        ip: asker.ip,
        params,
        body: route.body && parse(route.body, body),
        query: route.query && parse(route.query, asked),
        caller: undefined,
        session: asker.session,
        staff,
        header: () => undefined,
      })
      return reply.body as T
    }
  }
}

const filled = (path: string, params: Readonly<Record<string, string>>): string =>
  path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name] ?? ''))
