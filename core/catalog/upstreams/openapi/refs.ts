import { isJsonObject, type JsonObject } from '../../../json.ts'
import { subschemas } from '../../../plugin/schema-cost.ts'
import {
  compileError,
  countPatterns,
  KEYWORDS,
  newSchemaBudget,
  SCHEMA_BYTES_MAX,
} from '../schemas.ts'

/** Unsupported part of a document, with its location. */
export interface Gap {
  readonly at: string
  readonly what: string
}

const HOPS_MAX = 20
const NODES_MAX = 1_500
const DEPTH_MAX = 20
const GAPS_MAX = 200
/** Total characters of a document's schemas; the target of a $ref counts each time. */
const TEXT_MAX = 2_097_152
const ANYTHING: JsonObject = {}

/** Resolves references within a document; external references become gaps. */
export class RefResolver {
  readonly gaps: Gap[] = []
  readonly #root: JsonObject
  /** Remaining schemas and patterns, because every schema is compiled later. */
  readonly #budget = newSchemaBudget()
  #textLeft = TEXT_MAX

  constructor(root: JsonObject) {
    this.#root = root
  }

  addGap(at: string, what: string): undefined {
    if (this.gaps.length < GAPS_MAX) this.gaps.push({ at, what })
    return undefined
  }

  /** Returns an object or the object that it references; undefined if there is none. */
  resolve(node: unknown, at: string): JsonObject | undefined {
    let found = node
    for (let hops = 0; isJsonObject(found) && typeof found['$ref'] === 'string'; hops++) {
      if (hops === HOPS_MAX) return this.addGap(at, 'its $ref is circular')
      found = this.#target(found['$ref'], at)
    }
    return isJsonObject(found) ? found : undefined
  }

  #target(ref: string, at: string): unknown {
    if (!ref.startsWith('#/'))
      return this.addGap(at, `a $ref to another document is not supported: ${ref}`)
    let node: unknown = this.#root
    for (const part of ref.slice(2).split('/')) {
      const name = decodePercent(part).replaceAll('~1', '/').replaceAll('~0', '~') // RFC 6901 §6
      if (!isJsonObject(node) || !Object.hasOwn(node, name))
        return this.addGap(at, `the target of the $ref does not exist: ${ref}`)
      node = node[name]
    }
    return node
  }

  /** Inlines `$ref` and drops unsupported keywords; a recursive or too large schema accepts all. */
  inlineSchema(node: unknown, at: string): JsonObject {
    if (this.#textLeft <= 0) return this.#tooLarge(at)
    let count = 0
    const copy = (each: unknown, place: string, path: readonly unknown[]): JsonObject | boolean => {
      if (typeof each === 'boolean') return each
      const found = this.resolve(each, place)
      if (!found) return ANYTHING
      if (path.includes(found)) {
        this.addGap(place, 'the schema is recursive; any value is accepted here')
        return ANYTHING
      }
      if (++count > NODES_MAX || path.length > DEPTH_MAX || --this.#budget.schemas < 0) {
        return this.#tooLarge(place)
      }
      if (countPatterns(found, this.#budget) !== undefined) return this.#tooLarge(place)
      return this.#supportedKeywords(found, (inside, name) =>
        copy(inside, `${place}/${name}`, [...path, found]),
      )
    }
    const made = copy(node, at, [])
    const whole = typeof made === 'boolean' ? ANYTHING : made
    const { length } = JSON.stringify(whole)
    this.#textLeft -= length
    if (length > SCHEMA_BYTES_MAX) return this.#tooLarge(at)
    const wrong = compileError(whole)
    if (wrong === undefined) return whole
    this.addGap(at, `the schema cannot be compiled: ${wrong}`)
    return ANYTHING
  }

  #tooLarge(at: string): JsonObject {
    this.addGap(at, 'the schema is too large; any value is accepted here')
    return ANYTHING
  }

  /** Reduces one level of a schema to the supported keywords. */
  #supportedKeywords(
    found: JsonObject,
    copy: (inside: unknown, name: string) => JsonObject | boolean,
  ): JsonObject {
    const known = Object.entries(found).filter(([key]) => KEYWORDS.has(key))
    const out: Record<string, unknown> = Object.fromEntries(known)
    for (const [place, each] of subschemas({ ...out })) {
      const [key = '', name] = place.split(/\/(.*)/s)
      const made = copy(each, place)
      if (name === undefined) out[key] = made
      else if (Array.isArray(found[key])) {
        out[key] = (out[key] as unknown[]).toSpliced(Number(name), 1, made)
      } else out[key] = { ...(out[key] as JsonObject), [name]: made }
    }
    if (out['type'] === undefined && isJsonObject(out['properties'])) out['type'] = 'object'
    if (out['type'] === undefined && isJsonObject(out['items'])) out['type'] = 'array'
    if (out['uniqueItems'] === true && !(Number(out['maxItems']) <= 1_000))
      delete out['uniqueItems']
    if (Array.isArray(out['required'])) {
      const { properties } = out
      const names = out['required'].filter(
        (name) => isJsonObject(properties) && Object.hasOwn(properties, name),
      )
      if (names.length > 0) out['required'] = names
      else delete out['required']
    }
    return out
  }
}

function decodePercent(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part // not UTF-8
  }
}
