import { type ChildNode, type Element, isTag, type ParentNode } from 'domhandler'

export const elementsOf = ({ children }: ParentNode): Element[] =>
  children.filter((child) => isTag(child))

export function isHeading(node: Element): boolean
export function isHeading(node: ParentNode | ChildNode): node is Element
export function isHeading(node: ParentNode | ChildNode): boolean {
  return isTag(node) && /^h[1-6]$/.test(node.name)
}

/** Finds the first wanted element within a node, in page order, down to a depth. */
export function findElement(
  node: ParentNode,
  isWanted: (element: Element) => boolean,
  depth = Number.POSITIVE_INFINITY,
): Element | undefined {
  if (depth === 0) return undefined
  for (const child of node.children) {
    if (!isTag(child)) continue
    const found = isWanted(child) ? child : findElement(child, isWanted, depth - 1)
    if (found) return found
  }
  return undefined
}

/** Adds up the values of the outermost elements within a node that have one. */
export const sumOfOutermost = (
  node: ParentNode,
  valueOf: (element: Element) => number | undefined,
): number =>
  elementsOf(node).reduce(
    (sum, child) => sum + (valueOf(child) ?? sumOfOutermost(child, valueOf)),
    0,
  )

/** Returns true if an element of one of the names is within the node. */
export const holdsAny = (node: ParentNode, names: ReadonlySet<string>): boolean =>
  findElement(node, ({ name }) => names.has(name)) !== undefined

/** Returns the element before another, in the tree as it was parsed. */
export function elementBefore({ prev }: Element): Element | undefined {
  let node = prev
  while (node !== null && !isTag(node)) node = node.prev
  return node ?? undefined
}

/** Returns the element after another, in the tree as it was parsed. */
export function elementAfter({ next }: Element): Element | undefined {
  let node = next
  while (node !== null && !isTag(node)) node = node.next
  return node ?? undefined
}
