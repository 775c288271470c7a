/** Where a term stands in a document. */
export interface Places {
  readonly positions: readonly number[]
  /** A name, B tags, category and provider, C description, D endpoints; one for each position. */
  readonly fields: string
}

/** A term as PostgreSQL writes it in a tsvector after its first quote: `rain':`. */
export const asWritten = (term: string): string =>
  `${term.replaceAll('\\', '\\\\').replaceAll("'", "''")}':`

/** Where the terms stand in `'rain':2A,8 'snow':4`. Cheaper here than by `unnest` there. */
export function placesIn(
  vector: string,
  terms: readonly (readonly [term: string, written: string])[],
): ReadonlyMap<string, Places> {
  const places = new Map<string, Places>()
  for (const [term, written] of terms) {
    const at = indexOfTerm(vector, written)
    if (at > 0) places.set(term, placesAt(vector, at + written.length))
  }
  return places
}

const QUOTE = 0x27
const COMMA = 0x2c
const ZERO = 0x30
const NINE = 0x39
const A = 0x41

/** Without its first quote a term is found sooner: each word begins with one. */
function indexOfTerm(vector: string, written: string): number {
  let at = vector.indexOf(written)
  while (at > 0 && vector.charCodeAt(at - 1) !== QUOTE) at = vector.indexOf(written, at + 1)
  return at
}

/** Reads `2A,8`. The field D is not written. */
function placesAt(vector: string, from: number): Places {
  const positions: number[] = []
  let fields = ''
  let position = 0
  for (let at = from; ; at++) {
    const code = vector.charCodeAt(at)
    if (code >= ZERO && code <= NINE) {
      position = 10 * position + code - ZERO
      continue
    }
    positions.push(position)
    position = 0
    const isNamed = code >= A
    fields += isNamed ? vector[at] : 'D'
    if (isNamed) at++
    if (vector.charCodeAt(at) !== COMMA) return { positions, fields }
  }
}
