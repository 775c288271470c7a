import { isJsonObject, type JsonObject } from '../../../json.ts'
import { subschemas } from '../../../plugin/schema-cost.ts'
import { findSchemaError } from '../../../plugin/validate.ts'
import { countPatterns, SCHEMA_BYTES_MAX } from '../schemas.ts'
import { validKeywords } from './keywords.ts'
import type { RefResolver } from './refs.ts'

/** Direction of a schema: a request lacks `readOnly` members, a response `writeOnly` ones. */
export type SchemaUse = 'request' | 'response'

/** Schemas of one endpoint's input or output, which share their definitions. */
export interface SchemaScope {
  readonly use: SchemaUse
  /** `$defs` that the schemas of the scope reference. */
  readonly definitions: Record<string, JsonObject>
  readonly names: Map<string, string>
}

export const newSchemaScope = (use: SchemaUse): SchemaScope => ({
  use,
  definitions: {},
  names: new Map(),
})

/** Schemas up to this size are inlined, because callers read them more easily. */
const INLINE_NODES_MAX = 200
const NODES_MAX = 1_500
const DEPTH_MAX = 22
/** Total characters of a document's schemas. */
const TEXT_MAX = 4_194_304
const ANYTHING: JsonObject = {}

/** Too large to be inlined, or recursive. */
class NotInlinable extends Error {}

interface Reading {
  readonly scope: SchemaScope
  /** True to define the targets of references in `$defs`; else they are inlined. */
  readonly shares: boolean
  readonly annotated: boolean
  nodes: number
}

/** Translates the schemas of a document to JSON Schema whose references are `#/$defs/NAME`. */
export class SchemaReader {
  readonly #refs: RefResolver
  #textLeft = TEXT_MAX

  constructor(refs: RefResolver) {
    this.#refs = refs
  }

  /** Reads a schema; one that is too large accepts anything, which is a gap. */
  read(node: unknown, at: string, scope: SchemaScope): JsonObject {
    const gaps = this.#refs.gaps.length
    const ways = [
      { scope, shares: false, annotated: true },
      { scope, shares: true, annotated: true },
      { scope, shares: true, annotated: false },
    ]
    for (const way of ways) {
      const before = { ...this.#refs.budget }
      this.#refs.gaps.length = gaps
      const made = this.#attempt(node, at, way)
      if (made === undefined) Object.assign(this.#refs.budget, before)
      else return made
    }
    return this.#tooLarge(at)
  }

  #attempt(node: unknown, at: string, way: Omit<Reading, 'nodes'>): JsonObject | undefined {
    if (this.#textLeft <= 0) return undefined
    const known = new Set(Object.keys(way.scope.definitions))
    try {
      const made = this.#copy(node, at, [], { ...way, nodes: 0 }, new Set())
      const whole = typeof made === 'boolean' ? (made ? ANYTHING : { not: {} }) : made
      const definitions = Object.entries(way.scope.definitions)
      const added = definitions.filter(([name]) => !known.has(name))
      const { length } = JSON.stringify([whole, added])
      const size = JSON.stringify([whole, definitions]).length
      if (length > this.#textLeft || size > SCHEMA_BYTES_MAX - 2_048) throw new NotInlinable()
      const wrong = findSchemaError({ ...whole, $defs: way.scope.definitions })
      if (wrong !== undefined) {
        this.#refs.addGap(at, `it is no JSON Schema: ${wrong.slice(0, 200)}`)
        return ANYTHING
      }
      this.#textLeft -= length
      return whole
    } catch (error) {
      if (!(error instanceof NotInlinable)) throw error
      for (const [name] of Object.entries(way.scope.definitions)) {
        if (!known.has(name)) delete way.scope.definitions[name]
      }
      for (const [ref, name] of way.scope.names) if (!known.has(name)) way.scope.names.delete(ref)
      return undefined
    }
  }

  #copy(
    node: unknown,
    place: string,
    path: readonly unknown[],
    reading: Reading,
    omitted: ReadonlySet<string>,
  ): JsonObject | boolean {
    if (typeof node === 'boolean') return node
    if (reading.shares && isJsonObject(node) && typeof node['$ref'] === 'string') {
      return this.#reference(node, node['$ref'], place, reading)
    }
    const found = this.#refs.resolve(node, place)
    if (!found) return ANYTHING
    if (path.includes(found)) throw new NotInlinable()
    reading.nodes += 1
    const max = reading.shares ? NODES_MAX : INLINE_NODES_MAX
    if (reading.nodes > max || path.length > DEPTH_MAX || --this.#refs.budget.schemas < 0) {
      throw new NotInlinable()
    }
    const report = (what: string): void => this.#refs.addGap(place, what)
    const out = validKeywords(mergeSiblings(node, found), report, reading.annotated)
    const patterns = countPatterns(out, this.#refs.budget)
    if (patterns !== undefined) {
      report(`the pattern is ignored: ${patterns}`)
      delete out['pattern']
      delete out['patternProperties']
    }
    return this.#copyInside(out, place, [...path, found], reading, omitted)
  }

  #copyInside(
    out: Record<string, unknown>,
    place: string,
    path: readonly unknown[],
    reading: Reading,
    inherited: ReadonlySet<string>,
  ): JsonObject {
    const flag = reading.scope.use === 'request' ? 'readOnly' : 'writeOnly'
    const omitted = new Set([...inherited, ...this.#flaggedNames(out, flag, 0)])
    for (const [inside, each] of subschemas({ ...out })) {
      const [key = '', name] = inside.split(/\/(.*)/s)
      const below = key === 'allOf' ? omitted : new Set<string>()
      const made = this.#copy(each, `${place}/${inside}`, path, reading, below)
      if (name === undefined) out[key] = made
      else if (Array.isArray(out[key])) {
        out[key] = (out[key] as unknown[]).toSpliced(Number(name), 1, made)
      } else out[key] = { ...(out[key] as JsonObject), [name]: made }
    }
    if (Array.isArray(out['required'])) {
      const names = (out['required'] as string[]).filter((name) => !omitted.has(name))
      if (names.length > 0) out['required'] = names
      else delete out['required']
    }
    return out
  }

  /** Names of the members with `readOnly` or `writeOnly`, including those of `allOf`. */
  #flaggedNames(schema: JsonObject, flag: string, depth: number): readonly string[] {
    const { properties, allOf } = schema
    if (depth > 5) return []
    const own = isJsonObject(properties) ? Object.entries(properties) : []
    const flagged = own.filter(
      ([, each]) =>
        (isJsonObject(each) && each[flag] === true) || this.#quietly(each)?.[flag] === true,
    )
    const parts = Array.isArray(allOf) ? (allOf as unknown[]) : []
    return [
      ...flagged.map(([name]) => name),
      ...parts.flatMap((part) => this.#flaggedNames(this.#quietly(part) ?? {}, flag, depth + 1)),
    ]
  }

  /** Resolves without reporting gaps again. */
  #quietly(node: unknown): JsonObject | undefined {
    const { length } = this.#refs.gaps
    const found = this.#refs.resolve(node, '')
    this.#refs.gaps.length = length
    return found
  }

  /** Defines the target of a reference once in its scope. */
  #reference(node: JsonObject, ref: string, place: string, reading: Reading): JsonObject {
    const { names, definitions } = reading.scope
    let name = names.get(ref)
    if (name === undefined) {
      const base = ref.slice(ref.lastIndexOf('/') + 1, 200).replaceAll(/\W/g, '_') || 'schema'
      name = Object.hasOwn(definitions, base) ? `${base}_${names.size}` : base
      names.set(ref, name)
      definitions[name] = ANYTHING
      const target = this.#refs.resolve(node, place)
      const made = this.#copy(target, place, [], reading, new Set())
      definitions[name] = typeof made === 'boolean' ? (made ? ANYTHING : { not: {} }) : made
    }
    const rest = siblingsOf(node)
    return { ...validKeywords(rest, () => undefined, reading.annotated), $ref: `#/$defs/${name}` }
  }

  #tooLarge(at: string): JsonObject {
    return this.#refs.addGap(at, 'the schema is too large; any value is accepted here') ?? ANYTHING
  }
}

const siblingsOf = (node: JsonObject): JsonObject => {
  const { $ref: _, ...rest } = node
  return rest
}

/** Adds keywords beside a `$ref` to its target: annotations replace, constraints are added. */
function mergeSiblings(node: unknown, target: JsonObject): JsonObject {
  if (node === target || !isJsonObject(node)) return target
  const rest = siblingsOf(node)
  const clash = Object.keys(rest).some((key) => CONSTRAINTS.test(key) && key in target)
  return clash ? { allOf: [target, rest] } : { ...target, ...rest }
}

const CONSTRAINTS = /^(?:type|enum|const|pattern|properties|required|items|\w+Of|m(?:in|ax)\w+)$/
