import { isTag, type ParentNode } from 'domhandler'
import type { Kind } from './kind.ts'
import { measure, measureOf } from './measure.ts'
import { textOf } from './text.ts'

/** Minimum characters of a part that may be a copy; shorter ones repeat for good reasons. */
const COPY_MIN = 600
/** On pages of shops, which show a description once for each width of the screen. */
const SHOP_COPY_MIN = 120

/** Removes parts whose text stands in the tree before, such as a version for small screens. */
export function removeCopies(root: ParentNode, kind: Kind): void {
  const min = kind === 'product' || kind === 'listing' ? SHOP_COPY_MIN : COPY_MIN
  const measures = measure(root)
  const seen = new Map<number, string[]>()
  const walk = (node: ParentNode): void => {
    node.children = node.children.filter((child) => {
      const length = isTag(child) ? measureOf(measures, child).text : 0
      if (!isTag(child) || length < min || child.name === 'pre') return true
      const others = seen.get(length) ?? []
      const text = textOf(child)
      if (others.includes(text)) return false
      walk(child)
      seen.set(length, [...others, text])
      return true
    })
  }
  walk(root)
}
