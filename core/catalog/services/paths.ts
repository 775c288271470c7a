/** Text and parameters of a segment in turn, starting and ending with text: `{id}.json`. */
export type Segment = readonly string[]

/** Declared path; a segment has text and parameters, with text between two parameters. */
const PATH_PATTERN = /^(?:\/(?:\{[\w.$-]{1,64}\}(?!\{)|[\w.~!$'()*+,;=:@-])*)+$/
/** Dot segments and inner empty segments, which servers may resolve to another path. */
const AMBIGUOUS_PATH = /\/\.{1,2}(?:\/|$)|\/\/./
export const PATH_MAX = 300

/** Returns why a path cannot be declared, as the end of a sentence. */
export function pathIssue(path: string): string | undefined {
  if (path.length > PATH_MAX) return `has more than ${PATH_MAX} characters`
  if (AMBIGUOUS_PATH.test(path)) return 'must not have dot segments or empty segments'
  if (PATH_PATTERN.test(path)) return undefined
  return 'must be like /cities/{city}.json: no spaces, ? or #, and text between parameters'
}

const PARAMETER = /\{([^{}]+)\}/
/** Returns the names of a path's parameters. */
export const parameterNames = (path: string): readonly string[] =>
  segmentsOf(path).flatMap((segment) => segment.filter((_, i) => i % 2 === 1))

export const segmentsOf = (path: string): readonly Segment[] =>
  path.split('/').map((segment) => segment.split(PARAMETER))

/** Returns the values of a segment's parameters: each ends where the next text first occurs. */
export function matchSegment(segment: Segment, text: string): readonly string[] | undefined {
  if (segment.length === 1) return segment[0] === text ? [] : undefined
  const [start = ''] = segment
  const end = segment.at(-1)!
  if (!text.startsWith(start) || !text.endsWith(end)) return undefined
  const values: string[] = []
  let from = start.length
  for (let i = 2; i < segment.length; i += 2) {
    const isLast = i === segment.length - 1
    const to = isLast ? text.length - end.length : text.indexOf(segment[i]!, from + 1)
    if (to <= from) return undefined
    values.push(text.slice(from, to))
    from = to + segment[i]!.length
  }
  return values
}
