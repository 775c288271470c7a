import { isJsonObject, type JsonObject } from '../../../json.ts'
import { BYTES_MAX, budget, compileError, inner, KEYWORDS, takePatterns } from '../schemas.ts'

/** Something of a document that was not understood, and where. */
export interface Gap {
  readonly at: string
  readonly what: string
}

const HOPS_MAX = 20
const NODES_MAX = 1_500
const DEPTH_MAX = 20
const GAPS_MAX = 200
/** Characters of all schemas of a document together, a $ref counted each time. */
const TEXT_MAX = 2_097_152
const ANYTHING: JsonObject = {}

/** Reads what a document refers to: places of its own, and nothing else. */
export class Refs {
  readonly gaps: Gap[] = []
  readonly #root: JsonObject
  /** What its schemas may still have together: whoever checks by them compiles them. */
  readonly #left = budget()
  #textLeft = TEXT_MAX

  constructor(root: JsonObject) {
    this.#root = root
  }

  gap(at: string, what: string): undefined {
    if (this.gaps.length < GAPS_MAX) this.gaps.push({ at, what })
    return undefined
  }

  /** What stands there, or what that refers to; undefined: nothing that could be read. */
  object(node: unknown, at: string): JsonObject | undefined {
    let found = node
    for (let hops = 0; isJsonObject(found) && typeof found['$ref'] === 'string'; hops++) {
      if (hops === HOPS_MAX) return this.gap(at, 'its $ref leads in a circle')
      found = this.#at(found['$ref'], at)
    }
    return isJsonObject(found) ? found : undefined
  }

  #at(ref: string, at: string): unknown {
    if (!ref.startsWith('#/')) return this.gap(at, `a $ref to another document: ${ref}`)
    let node: unknown = this.#root
    for (const part of ref.slice(2).split('/')) {
      const name = decoded(part)
      if (!isJsonObject(node) || !Object.hasOwn(node, name))
        return this.gap(at, `no such $ref: ${ref}`)
      node = node[name]
    }
    return node
  }

  /**
   * A schema by itself: without $ref, and with the keywords alone that the hub takes. What would
   * contain itself, or is too large, becomes a schema of anything.
   */
  schema(node: unknown, at: string): JsonObject {
    if (this.#textLeft <= 0) return this.#tooLarge(at)
    let count = 0
    const copy = (each: unknown, place: string, path: readonly unknown[]): JsonObject | boolean => {
      if (typeof each === 'boolean') return each
      const found = this.object(each, place)
      if (!found) return ANYTHING
      if (path.includes(found)) {
        this.gap(place, 'a schema that contains itself: anything is taken there')
        return ANYTHING
      }
      if (++count > NODES_MAX || path.length > DEPTH_MAX || --this.#left.schemas < 0) {
        return this.#tooLarge(place)
      }
      if (takePatterns(found, this.#left) !== undefined) return this.#tooLarge(place)
      return this.#plain(found, (inside, name) =>
        copy(inside, `${place}/${name}`, [...path, found]),
      )
    }
    const made = copy(node, at, [])
    const whole = typeof made === 'boolean' ? ANYTHING : made
    const { length } = JSON.stringify(whole)
    this.#textLeft -= length
    if (length > BYTES_MAX) return this.#tooLarge(at)
    const wrong = compileError(whole)
    if (wrong === undefined) return whole
    this.gap(at, `a schema that cannot be checked: ${wrong}`)
    return ANYTHING
  }

  #tooLarge(at: string): JsonObject {
    this.gap(at, 'a schema that is too large: anything is taken there')
    return ANYTHING
  }

  /** One level of a schema, in the words of the hub. */
  #plain(
    found: JsonObject,
    copy: (inside: unknown, name: string) => JsonObject | boolean,
  ): JsonObject {
    const known = Object.entries(found).filter(([key]) => KEYWORDS.has(key))
    const out: Record<string, unknown> = Object.fromEntries(known)
    for (const [place, each] of inner(found)) {
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

/** A segment of a JSON pointer in a URL (RFC 6901 §6). */
function decoded(part: string): string {
  const text = plain(part)
  return text.replaceAll('~1', '/').replaceAll('~0', '~')
}

function plain(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part // not UTF-8
  }
}
