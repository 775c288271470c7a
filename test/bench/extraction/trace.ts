import { type AnyNode, hasChildren, type ParentNode } from 'domhandler'

/** Variants that make a difference on the page. */
let effective = new Set<string>()
let isTracing = false

/** Words of names on the page, instead of a memory of all pages that would hide later uses. */
export const memory = new Map<string, readonly string[]>()

/** Starts the trace of a page, which the configuration in use reads first. */
export function beginTrace(): void {
  effective = new Set()
  memory.clear()
  isTracing = true
}

/** Ends the trace: what other configurations do on the page is not noted. */
export function endTrace(): void {
  isTracing = false
}

/** Returns true if a variant may make a difference on the page that was read. */
export const isEffective = (name: string): boolean => effective.has(name)

const isSame = (one: unknown, other: unknown): boolean => {
  if (one instanceof Set && other instanceof Set) return isSame([...one], [...other])
  if (!Array.isArray(one) || !Array.isArray(other)) return one === other
  return one.length === other.length && one.every((each, at) => each === other[at])
}

/** Notes which variants of a function would have returned something else on the page. */
export const traced =
  <A extends unknown[], R>(
    own: (...args: A) => R,
    others: readonly (readonly [variant: string, other: (...args: A) => R])[],
  ) =>
  (...args: A): R => {
    const result = own(...args)
    for (const [variant, other] of isTracing ? others : []) {
      if (!effective.has(variant) && !isSame(result, other(...args))) effective.add(variant)
    }
    return result
  }

function nodesIn(root: ParentNode, found: AnyNode[] = []): AnyNode[] {
  for (const child of root.children) {
    found.push(child)
    if (hasChildren(child)) nodesIn(child, found)
  }
  return found
}

/** Notes the variant without a function if the function changes the tree that it is given. */
export function tracedTree<A extends unknown[], R>(
  own: () => (root: ParentNode, ...args: A) => R,
  variant: string,
): (root: ParentNode, ...args: A) => R {
  let isInside = false
  return (root, ...args) => {
    if (!isTracing || isInside || effective.has(variant)) return own()(root, ...args)
    isInside = true
    const before = nodesIn(root)
    try {
      return own()(root, ...args)
    } finally {
      isInside = false
      if (!isSame(before, nodesIn(root))) effective.add(variant)
    }
  }
}

const noted = (variant: string, isFound: boolean): boolean => {
  if (isFound && isTracing) effective.add(variant)
  return isFound
}

/** Notes the variant without members of a set if one is found in it. */
export const tracedSet = <T>(own: () => ReadonlySet<T>, variant: string) => ({
  has: (value: T): boolean => noted(variant, own().has(value)),
})

/** Notes the variant without a pattern if it matches. */
export const tracedPattern = (own: () => RegExp, variant: string) => ({
  test: (text: string): boolean => noted(variant, own().test(text)),
})
