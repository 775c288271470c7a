import type { Routes } from './families.ts'
import type { Offering } from './publish.ts'

/** What a request leads to. */
interface Destination {
  readonly offering: Offering
  /** What stands in its path for `{name}`. */
  readonly params: Readonly<Record<string, string>>
}

interface Template {
  readonly offering: Offering
  readonly segments: readonly string[]
}

/** A path as it is declared: a segment is text, or a parameter. */
export const PATH = /^(?:\/(?:\{[A-Za-z_]\w*\}|[A-Za-z0-9_.~-]*))+$/
/** What of such a path would lead elsewhere: dot segments, and empty ones but the last. */
export const ELSEWHERE = /\/\.{1,2}(?:\/|$)|\/\/./

const PARAMETER = /^\{(\w+)\}$/
const NONE: Destination['params'] = {}

/**
 * The endpoint of a path: the one that is written exactly so, else the one with the fewest
 * parameters. A template itself is a path too: its parameters are then members of the input.
 */
export function routeTo(routes: Routes, method: string, path: string): Destination | undefined {
  const exact = routes.get(`${method} ${path}`)
  if (exact) return { offering: exact, params: NONE }
  const asked = path.split('/')
  const found = templatesOf(routes).find(
    ({ offering, segments }) => offering.method === method && fits(segments, asked),
  )
  return found && { offering: found.offering, params: paramsOf(found.segments, asked) }
}

/** Methods by which a path can be called. */
export const methodsOf = (routes: Routes, path: string): readonly string[] => {
  const asked = path.split('/')
  const exact = [...routes.values()].filter((offering) => offering.path === path)
  const fitting = templatesOf(routes).filter(({ segments }) => fits(segments, asked))
  return [...new Set([...exact, ...fitting.map(({ offering }) => offering)].map((o) => o.method))]
}

/** Names of the parameters of a path. */
export const parametersOf = (path: string): readonly string[] =>
  path.split('/').flatMap((segment) => PARAMETER.exec(segment)?.[1] ?? [])

const known = new WeakMap<Routes, readonly Template[]>()

/** Endpoints with parameters, those with the fewest first. */
function templatesOf(routes: Routes): readonly Template[] {
  const before = known.get(routes)
  if (before) return before
  const templates = [...routes.values()]
    .filter(({ path }) => path.includes('{'))
    .map((offering) => ({ offering, segments: offering.path.split('/') }))
    .sort((a, b) => countOf(a) - countOf(b))
  known.set(routes, templates)
  return templates
}

const countOf = ({ offering }: Template): number => parametersOf(offering.path).length

const fits = (segments: readonly string[], asked: readonly string[]): boolean =>
  segments.length === asked.length &&
  segments.every((segment, i) => segment === asked[i] || (PARAMETER.test(segment) && !!asked[i]))

const paramsOf = (segments: readonly string[], asked: readonly string[]) =>
  Object.fromEntries(
    segments.flatMap((segment, i) => {
      const name = PARAMETER.exec(segment)?.[1]
      return name === undefined ? [] : [[name, asked[i] ?? ''] as const]
    }),
  )
