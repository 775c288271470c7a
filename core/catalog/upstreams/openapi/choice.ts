import type { Operation } from './document.ts'

/** Group of a document's operations that can be selected for import. */
export interface OperationChoice {
  /** Selector: a tag, or a path including all paths below it. */
  readonly only: string
  readonly operations: number
}

const CHOICES_MAX = 100
/** Maximum length of a selector. */
export const SELECTOR_MAX = 300

/** Returns true if `only` selects the operation: `GET /a/b`, `/a/b`, a path above it, or a tag. */
export const isSelected = (only: string, operation: Operation): boolean =>
  only === operation.at ||
  `${operation.path}/`.startsWith(only.endsWith('/') ? only : `${only}/`) ||
  tagsOf(operation).includes(only)

/** Lists the possible selections: tags, and for untagged operations the first differing path. */
export function operationChoices(operations: readonly Operation[]): readonly OperationChoice[] {
  const depth = sharedDepth(operations) + 1
  const names = operations.flatMap((each) => {
    const tags = tagsOf(each)
    return tags.length > 0 ? tags : [each.path.split('/').slice(0, depth).join('/') || '/']
  })
  return [...new Set(names)].slice(0, CHOICES_MAX).map((only) => ({
    only,
    operations: operations.filter((each) => isSelected(only, each)).length,
  }))
}

const tagsOf = ({ spec: { tags } }: Operation): readonly string[] =>
  Array.isArray(tags) ? tags.filter(isTagName) : []

const isTagName = (tag: unknown): tag is string =>
  typeof tag === 'string' && tag !== '' && tag === tag.trim() && tag.length <= SELECTOR_MAX

/** Counts the leading segments that all paths share, including the empty one before the slash. */
function sharedDepth(operations: readonly Operation[]): number {
  const [first = [], ...others] = operations.map(({ path }) => path.split('/'))
  const part = first.findIndex((segment, n) => others.some((other) => other[n] !== segment))
  return part === -1 ? first.length : part
}
