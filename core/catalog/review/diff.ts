import { isJsonObject, type JsonObject } from '../../json.ts'

/** Difference between two versions at one place. */
export interface ContentChange {
  /** Place, such as `summary` or `endpoints, POST /do, input, properties`. */
  readonly at: string
  /** Null: new. */
  readonly before: string | null
  /** Null: removed. */
  readonly after: string | null
}

/** Lists what differs between two contents, texts and addresses first, schemas last. */
export function diffContent(before: JsonObject, after: JsonObject): readonly ContentChange[] {
  const [old, now] = [flatten(before), flatten(after)]
  const places = [...new Set([...now.keys(), ...old.keys()])]
  return places
    .filter((at) => old.get(at) !== now.get(at))
    .map((at) => ({ at, before: old.get(at) ?? null, after: now.get(at) ?? null }))
    .toSorted((a, b) => depthOf(a) - depthOf(b))
}

const depthOf = ({ at }: ContentChange): number => at.split(SEPARATOR).length
const SEPARATOR = ', '

/** Leaves of a JSON value as text, by their place. Empty objects and lists are leaves. */
function flatten(value: JsonObject): ReadonlyMap<string, string> {
  const leaves = new Map<string, string>()
  const visit = (inner: unknown, path: readonly string[]): void => {
    const members = membersOf(inner)
    if (members.length === 0) return void leaves.set(path.join(SEPARATOR), leafText(inner))
    for (const [name, member] of members) visit(member, [...path, name])
  }
  for (const [name, member] of Object.entries(value)) visit(member, [name])
  return leaves
}

const leafText = (value: unknown): string =>
  typeof value === 'string' ? value : JSON.stringify(value)

/** Lists of objects are compared by name, so that a moved endpoint is no change. */
function membersOf(value: unknown): readonly (readonly [string, unknown])[] {
  if (isJsonObject(value)) return Object.entries(value)
  if (!Array.isArray(value) || !value.every(isJsonObject)) return []
  return value.map((each, index) => [nameOf(each) ?? String(index + 1), each] as const)
}

function nameOf(each: JsonObject): string | undefined {
  const [first, second] = [each['method'] ?? each['place'], each['path'] ?? each['name']]
  return typeof first === 'string' && typeof second === 'string' ? `${first} ${second}` : undefined
}
