import { isJsonObject, type JsonObject } from '../../../json.ts'
import { newSchemaBudget } from '../schemas.ts'

/** Unsupported part of a document, with its location. */
export interface Gap {
  readonly at: string
  readonly what: string
}

/** Maximum number of other documents that references name. */
export const DOCUMENTS_MAX = 1_000
const HOPS_MAX = 20
const GAPS_MAX = 200
/** Characters of a gap's location and text, which repeat parts of the document. */
const GAP_TEXT_MAX = 1_000

/** Resolves references within a document and collects its gaps. */
export class RefResolver {
  readonly gaps: Gap[] = []
  /** Remaining schemas and patterns of the service. */
  readonly budget = newSchemaBudget()
  readonly #root: JsonObject

  constructor(root: JsonObject) {
    this.#root = root
  }

  addGap(at: string, what: string): undefined {
    const clip = (text: string): string => text.slice(0, GAP_TEXT_MAX)
    if (this.gaps.length < GAPS_MAX) this.gaps.push({ at: clip(at), what: clip(what) })
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
    if (!ref.startsWith('#'))
      return this.addGap(
        at,
        `the other document of a $ref is not available: ${ref}. ` +
          'Bundle the documents into one, or import by a url below which it can be fetched; ' +
          `at most ${DOCUMENTS_MAX.toLocaleString('en-US')} are: ` +
          'if there are more, select operations with "only"',
      )
    if (ref !== '#' && !ref.startsWith('#/'))
      return this.addGap(at, `a $ref to an anchor is not supported, only to a path: ${ref}`)
    let node: unknown = this.#root
    for (const name of pointerParts(ref)) {
      const isMember = Array.isArray(node) ? /^\d+$/.test(name) : isJsonObject(node)
      if (!isMember || !Object.hasOwn(node as object, name))
        return this.addGap(at, `the target of the $ref does not exist: ${ref}`)
      node = (node as JsonObject)[name]
    }
    return node
  }
}

/** Names in a JSON pointer (RFC 6901 §6). */
export const pointerParts = (pointer: string): readonly string[] =>
  pointer
    .split('/')
    .slice(1)
    .map((part) => decodePercent(part).replaceAll('~1', '/').replaceAll('~0', '~'))

function decodePercent(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part // not UTF-8
  }
}
