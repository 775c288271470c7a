import { memoizeByObject } from '../../../core/runtime/cache.ts'

interface Operation {
  readonly responses: Readonly<Record<string, object>>
}
interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: object
}

/**
 * Moves problem responses that several operations share to `components.responses`, and refers to
 * them: most routes fail alike, and a document without this has twice the size.
 */
export function shareResponses(document: Document): object {
  const names = nameRepeated(problemsOf(document))
  const shared = ([status, response]: readonly [string, object]) => {
    const name = names.get(textOf(response))
    return [status, name === undefined ? response : { $ref: `#/components/responses/${name}` }]
  }
  const responses = [...names].map(([text, name]) => [name, JSON.parse(text) as object])
  return {
    ...document,
    paths: mapMembers(document.paths, (methods) =>
      mapMembers(methods, (operation) => ({
        ...operation,
        responses: Object.fromEntries(Object.entries(operation.responses).map(shared)),
      })),
    ),
    components: { ...document.components, responses: Object.fromEntries(responses) },
  }
}

/** Formats each response once: operations share many, and keep theirs from document to document. */
const textOf = memoizeByObject((response: object): string => JSON.stringify(response))

/** Status and JSON text of each problem response. */
const problemsOf = ({ paths }: Document): readonly (readonly [status: string, text: string])[] =>
  Object.values(paths)
    .flatMap((methods) => Object.values(methods))
    .flatMap(({ responses }) => Object.entries(responses))
    .flatMap(([status, response]) =>
      Number(status) >= 400 ? [[status, textOf(response)] as const] : [],
    )

/** Names texts that occur more than once: `Problem404`, `Problem404_2`, … */
function nameRepeated(found: readonly (readonly [string, string])[]): Map<string, string> {
  const names = new Map<string, string>()
  const used = new Map<string, number>()
  for (const [text, { length }] of Map.groupBy(found, ([, each]) => each)) {
    if (length < 2) continue
    const [status] = found.find(([, each]) => each === text)!
    const earlier = used.get(status) ?? 0
    used.set(status, earlier + 1)
    names.set(text, `Problem${status}${earlier === 0 ? '' : `_${earlier + 1}`}`)
  }
  return names
}

const mapMembers = <T, U>(members: Readonly<Record<string, T>>, map: (member: T) => U) =>
  Object.fromEntries(Object.entries(members).map(([name, member]) => [name, map(member)]))
