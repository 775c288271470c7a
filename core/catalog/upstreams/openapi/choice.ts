import type { Operation } from './operation.ts'

/** Some of a document's operations, by what they have in common. */
export interface Choice {
  /** As an importer names them: a tag, or a path and what lies below it. */
  readonly only: string
  readonly operations: number
}

const CHOICES_MAX = 100
/** The longest name that an importer may give. */
export const NAME_MAX = 300

/** Whether an importer means it: by `GET /a/b`, `/a/b` or `/a` above it, or a tag. */
export const isMeant = (only: string, operation: Operation): boolean =>
  only === operation.at ||
  `${operation.path}/`.startsWith(only.endsWith('/') ? only : `${only}/`) ||
  tagsOf(operation).includes(only)

/** What importers may choose among: tags, and for what has none the paths where they part. */
export function choicesOf(operations: readonly Operation[]): readonly Choice[] {
  const depth = sharedDepth(operations) + 1
  const names = operations.flatMap((each) => {
    const tags = tagsOf(each)
    return tags.length > 0 ? tags : [each.path.split('/').slice(0, depth).join('/') || '/']
  })
  return [...new Set(names)].slice(0, CHOICES_MAX).map((only) => ({
    only,
    operations: operations.filter((each) => isMeant(only, each)).length,
  }))
}

const tagsOf = ({ spec: { tags } }: Operation): readonly string[] =>
  Array.isArray(tags) ? tags.filter(isName) : []

const isName = (tag: unknown): tag is string =>
  typeof tag === 'string' && tag !== '' && tag === tag.trim() && tag.length <= NAME_MAX

/** How many segments all paths begin with, the empty one before the first slash among them. */
function sharedDepth(operations: readonly Operation[]): number {
  const [first = [], ...others] = operations.map(({ path }) => path.split('/'))
  const part = first.findIndex((segment, n) => others.some((other) => other[n] !== segment))
  return part === -1 ? first.length : part
}
