import type { Routes } from './families.ts'
import type { Offering } from './publish.ts'

/** Endpoint that a request is routed to. */
interface RouteMatch {
  readonly offering: Offering
  /** Values of the path's `{name}` parameters. */
  readonly params: Readonly<Record<string, string>>
}

interface Template {
  readonly offering: Offering
  readonly segments: readonly string[]
}

/** Declared path; a segment is text or a parameter. */
export const PATH_PATTERN = /^(?:\/(?:\{[A-Za-z_]\w*\}|[A-Za-z0-9_.~-]*))+$/
/** Dot segments and inner empty segments, which servers may resolve to another path. */
export const AMBIGUOUS_PATH = /\/\.{1,2}(?:\/|$)|\/\/./

const PARAMETER = /^\{(\w+)\}$/
const NO_PARAMETERS: RouteMatch['params'] = {}

/**
 * Finds the endpoint of a path: an exact match, else the template with the fewest parameters. A
 * template itself is a valid path too; its parameters are then members of the input.
 */
export function findRoute(routes: Routes, method: string, path: string): RouteMatch | undefined {
  const exact = routes.get(`${method} ${path}`)
  if (exact) return { offering: exact, params: NO_PARAMETERS }
  const requested = path.split('/')
  const found = templatesOf(routes).find(
    ({ offering, segments }) => offering.method === method && matchesTemplate(segments, requested),
  )
  return found && { offering: found.offering, params: readParameters(found.segments, requested) }
}

/** Lists the methods that a path accepts. */
export const methodsForPath = (routes: Routes, path: string): readonly string[] => {
  const requested = path.split('/')
  const exact = [...routes.values()].filter((offering) => offering.path === path)
  const fitting = templatesOf(routes).filter(({ segments }) => matchesTemplate(segments, requested))
  const methods = new Set(
    [...exact, ...fitting.map(({ offering }) => offering)].map((o) => o.method),
  )
  return [...methods].flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method]))
}

/** Returns the names of a path's parameters. */
export const parameterNames = (path: string): readonly string[] =>
  path.split('/').flatMap((segment) => PARAMETER.exec(segment)?.[1] ?? [])

const templateCache = new WeakMap<Routes, readonly Template[]>()

/** Returns endpoints with parameters, those with the fewest first. */
function templatesOf(routes: Routes): readonly Template[] {
  const before = templateCache.get(routes)
  if (before) return before
  const templates = [...routes.values()]
    .filter(({ path }) => path.includes('{'))
    .map((offering) => ({ offering, segments: offering.path.split('/') }))
    .sort((a, b) => parameterCount(a) - parameterCount(b))
  templateCache.set(routes, templates)
  return templates
}

const parameterCount = ({ offering }: Template): number => parameterNames(offering.path).length

const matchesTemplate = (segments: readonly string[], requested: readonly string[]): boolean =>
  segments.length === requested.length &&
  segments.every(
    (segment, i) => segment === requested[i] || (PARAMETER.test(segment) && !!requested[i]),
  )

const readParameters = (segments: readonly string[], requested: readonly string[]) =>
  Object.fromEntries(
    segments.flatMap((segment, i) => {
      const name = PARAMETER.exec(segment)?.[1]
      return name === undefined ? [] : [[name, requested[i] ?? ''] as const]
    }),
  )
