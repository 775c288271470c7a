import type { Routes } from './families.ts'
import { matchSegment, type Segment, segmentsOf } from './paths.ts'
import type { Offering } from './publish.ts'

/** Endpoint that a request is routed to. */
interface RouteMatch {
  readonly offering: Offering
  /** Values of the path's `{name}` parameters. */
  readonly params: Readonly<Record<string, string>>
}

interface Template {
  readonly offering: Offering
  readonly segments: readonly Segment[]
}

const NO_PARAMETERS: RouteMatch['params'] = {}

/**
 * Finds the endpoint of a path: an exact match, else the template with the most text. A
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

const templateCache = new WeakMap<Routes, readonly Template[]>()

/** Returns endpoints with parameters, those with the most text first. */
function templatesOf(routes: Routes): readonly Template[] {
  const before = templateCache.get(routes)
  if (before) return before
  const templates = [...routes.values()]
    .filter(({ path }) => path.includes('{'))
    .map((offering) => ({ offering, segments: segmentsOf(offering.path) }))
    .sort((a, b) => vagueness(a) - vagueness(b))
  templateCache.set(routes, templates)
  return templates
}

/** Counts parameters; one that is a whole segment counts more. */
const vagueness = ({ segments }: Template): number =>
  segments.reduce((sum, each) => sum + (isWhole(each) ? 100 : (each.length - 1) / 2), 0)

const isWhole = ([before, , after, ...more]: Segment): boolean =>
  before === '' && after === '' && more.length === 0

const matchesTemplate = (segments: readonly Segment[], requested: readonly string[]): boolean =>
  segments.length === requested.length &&
  segments.every((segment, i) => matchSegment(segment, requested[i]!) !== undefined)

const readParameters = (segments: readonly Segment[], requested: readonly string[]) =>
  Object.fromEntries(
    segments.flatMap((segment, i) => {
      const values = matchSegment(segment, requested[i] ?? '') ?? []
      return values.map((value, n) => [segment[2 * n + 1]!, value] as const)
    }),
  )
