import { isTag, type ParentNode } from 'domhandler'
import { measure, measureOf } from './measure.ts'
import { textOf } from './text.ts'

/** Minimum characters of a part that may be a copy; shorter ones repeat for good reasons. */
const COPY_MIN = 600

/** Removes parts whose text stands in the tree before, such as a version for small screens. */
export function removeCopies(root: ParentNode): void {
  const measures = measure(root)
  const seen = new Map<number, string[]>()
  const walk = (node: ParentNode): void => {
    node.children = node.children.filter((child) => {
      const length = isTag(child) ? measureOf(measures, child).text : 0
      if (!isTag(child) || length < COPY_MIN || child.name === 'pre') return true
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
