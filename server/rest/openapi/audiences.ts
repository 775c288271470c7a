import type { AnyRoute } from '../route.ts'

/** OpenAPI documents of the platform's routes: each has the routes of some kinds of callers. */
export const AUDIENCES = {
  agents: { path: '/openapi.json', title: 'AgentHub', auth: ['none', 'key', 'owner'] },
  people: { path: '/openapi/people.json', title: 'AgentHub: sessions', auth: ['session'] },
  providers: { path: '/openapi/providers.json', title: 'AgentHub: selling', auth: ['provider'] },
  finance: {
    path: '/openapi/finance.json',
    title: 'AgentHub: finance',
    auth: ['finance', 'auditor'],
  },
  admin: { path: '/openapi/admin.json', title: 'AgentHub: administration', auth: ['admin'] },
} as const satisfies Readonly<
  Record<string, { path: string; title: string; auth: readonly AnyRoute['auth'][] }>
>

export type Audience = keyof typeof AUDIENCES
export const AUDIENCE_NAMES = Object.keys(AUDIENCES) as readonly Audience[]

/** Routes of sellers, whatever credentials they take. */
const SELLING = ['/v1/provider', '/v1/domains']

/** Returns the routes that callers of this kind need. */
export const routesOf = (audience: Audience, routes: readonly AnyRoute[]): readonly AnyRoute[] => {
  const kinds: readonly AnyRoute['auth'][] = AUDIENCES[audience].auth
  return routes.filter(({ auth, path }) =>
    SELLING.some((prefix) => path.startsWith(prefix))
      ? audience === 'providers'
      : kinds.includes(auth),
  )
}
