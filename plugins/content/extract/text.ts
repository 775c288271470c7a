import { type AnyNode, hasChildren, isTag, isText, type ParentNode } from 'domhandler'
import { INLINE } from './measure.ts'

/** Elements whose neighbours stand on the next line, not in a paragraph of their own. */
const LINES: ReadonlySet<string> = new Set(['li', 'tr', 'dt', 'dd', 'option', 'br'])
const CELLS: ReadonlySet<string> = new Set(['td', 'th'])

/** The plain text of a tree in reading order. */
export function textOf(root: ParentNode): string {
  let out = ''
  const walk = (node: AnyNode, preformatted: boolean): void => {
    if (isText(node)) {
      out += preformatted ? node.data : node.data.replace(/\s+/g, ' ')
      return
    }
    if (!hasChildren(node)) return
    const name = isTag(node) ? node.name : ''
    if (name === 'br') {
      out += '\n'
      return
    }
    const inline = INLINE.has(name)
    const edge = inline ? '' : CELLS.has(name) ? '\t' : LINES.has(name) ? '\n' : '\n\n'
    out += edge
    for (const child of node.children) walk(child, preformatted || name === 'pre')
    out += edge
  }
  walk(root, false)
  return out
    .split('\n')
    .map((line) => line.replace(/[ \t\u00a0]+/g, ' ').trim())
    .join('\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim()
}
