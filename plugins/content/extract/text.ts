import { type AnyNode, hasChildren, isTag, isText, type ParentNode } from 'domhandler'
import { INLINE } from './measure.ts'

/** Elements separated by a line break instead of a blank line. */
const LINES: ReadonlySet<string> = new Set(['li', 'tr', 'dt', 'dd', 'option'])
const CELLS: ReadonlySet<string> = new Set(['td', 'th'])
const SPACE = /[\s\u00a0]+/g

/** Collects lines. Code keeps its spaces; other text has single spaces. */
class Lines {
  readonly #done: string[] = []
  #line = ''
  #isCode = false

  add(text: string, isCode: boolean): void {
    if (!isCode) {
      this.#line += text
      return
    }
    const [first = '', ...others] = text.split(/\r\n?|\n/)
    this.#isCode = true
    this.#line += first
    for (const line of others) {
      this.end(1)
      this.#isCode = true
      this.#line = line
    }
  }

  /** Ends the line with at least the given number of line breaks. */
  end(ends: 1 | 2): void {
    const line = this.#isCode ? this.#line.trimEnd() : this.#line.replace(SPACE, ' ').trim()
    if (line !== '' || this.#isCode) this.#done.push(line)
    if (ends === 2 && this.#done.length > 0 && this.#done.at(-1) !== '') this.#done.push('')
    this.#line = ''
    this.#isCode = false
  }

  text(): string {
    this.end(1)
    return this.#done.join('\n').replace(/^\n+/, '').trimEnd()
  }
}

const NONE: ReadonlySet<AnyNode> = new Set()

/**
 * Returns the plain text of a tree in reading order; paragraphs are separated by blank lines.
 * @param skipped elements without text
 */
export function textOf(root: ParentNode, skipped: ReadonlySet<AnyNode> = NONE): string {
  const lines = new Lines()
  const walk = (node: AnyNode, isCode: boolean): void => {
    if (isText(node)) lines.add(node.data, isCode)
    if (!hasChildren(node)) return
    const name = isTag(node) ? node.name : ''
    const isBlock = !INLINE.has(name) && !CELLS.has(name)
    const ends = isCode || LINES.has(name) ? 1 : 2
    if (isBlock) lines.end(ends)
    if (name === 'br') lines.end(1)
    if (CELLS.has(name)) lines.add(' ', false)
    if (!skipped.has(node)) {
      for (const child of node.children) walk(child, isCode || name === 'pre')
    }
    if (isBlock) lines.end(ends)
  }
  walk(root, false)
  return lines.text()
}
