import { type ChildNode, type Element, isTag, isText, type ParentNode } from 'domhandler'
import { escapeLineStart, fenceFor, inlineOf } from './inline.ts'
import { collapseSpaces, INLINE } from './measure.ts'
import { rowsOf } from './tables.ts'
import { textOf } from './text.ts'

/** Maximum nesting of lists and quotes; deeper ones are not indented further. */
const INDENT_MAX = 12

/** Context of a block. */
interface Place {
  /** Base URL of links. */
  readonly base: string
  /** Nesting depth in lists and quotes. */
  readonly depth: number
}

const inner = ({ base, depth }: Place): Place => ({ base, depth: depth + 1 })

function paragraph(nodes: readonly ChildNode[], { base }: Place): string[] {
  const lines = inlineOf(nodes, base).split('\n').map(collapseSpaces)
  const text = lines.filter((line) => line !== '').map(escapeLineStart)
  return text.length === 0 ? [] : [text.join('\\\n')]
}

function list(node: Element, place: Place): string[] {
  const first = Number.parseInt(node.attribs['start'] ?? '1', 10) || 1
  const items = node.children
    .filter((child) => isTag(child))
    .map((item) => blocks(item.children, inner(place)).join('\n'))
    .filter((text) => text !== '')
    .map((text, at) => {
      const mark = node.name === 'ol' ? `${first + at}. ` : '- '
      const indent = place.depth < INDENT_MAX ? ' '.repeat(mark.length) : ''
      return mark + text.replaceAll('\n', `\n${indent}`)
    })
  return items.length === 0 ? [] : [items.join('\n')]
}

function table(node: Element, place: Place): string[] {
  const rows = rowsOf(node)
  if (rows === undefined) return blocks(node.children, place)
  const cells = rows.map((row) =>
    row.map((cell) => collapseSpaces(inlineOf(cell.children, place.base)).replaceAll('|', '\\|')),
  )
  const width = cells.reduce((most, row) => Math.max(most, row.length), 0)
  const [head, ...others] = cells.map(
    (row) => `| ${Array.from({ length: width }, (_, at) => row[at] ?? '').join(' | ')} |`,
  )
  return [[head, `|${' --- |'.repeat(width)}`, ...others].join('\n')]
}

/** Returns the language named by a highlighter's class. */
function languageOf(pre: Element): string {
  const code = pre.children.find((child) => isTag(child))
  const names = `${pre.attribs['class'] ?? ''} ${code?.attribs['class'] ?? ''}`
  return /(?:language|lang|highlight-source|brush:)[-: ]?([\w+#-]+)/.exec(names)?.[1] ?? ''
}

function code(pre: Element): string[] {
  const text = textOf(pre)
  const fence = fenceFor(text, 3)
  return text === '' ? [] : [`${fence}${languageOf(pre)}\n${text}\n${fence}`]
}

function quote(node: Element, place: Place): string[] {
  const parts = blocks(node.children, inner(place))
  if (parts.length === 0 || place.depth >= INDENT_MAX) return parts
  return [parts.join('\n\n').replace(/^/gm, '> ').replace(/^> $/gm, '>')]
}

function block(node: Element, place: Place): string[] {
  const level = /^h([1-6])$/.exec(node.name)?.[1]
  if (level !== undefined) {
    const text = collapseSpaces(inlineOf(node.children, place.base))
    return text === '' ? [] : [`${'#'.repeat(Number(level))} ${text}`]
  }
  switch (node.name) {
    case 'hr':
      return ['---']
    case 'ul':
    case 'ol':
      return list(node, place)
    case 'table':
      return table(node, place)
    case 'pre':
      return code(node)
    case 'blockquote':
      return quote(node, place)
    default:
      return blocks(node.children, place)
  }
}

const holdsBlocks = (node: Element): boolean =>
  node.children.some((child) => isTag(child) && (!INLINE.has(child.name) || holdsBlocks(child)))

/** Converts nodes to blocks; runs of inline content become paragraphs. */
function blocks(nodes: readonly ChildNode[], place: Place): string[] {
  const out: string[] = []
  let run: ChildNode[] = []
  for (const node of nodes) {
    if (isText(node) || (isTag(node) && INLINE.has(node.name) && !holdsBlocks(node))) {
      run.push(node)
    } else if (isTag(node)) {
      out.push(...paragraph(run, place), ...block(node, place))
      run = []
    }
  }
  return [...out, ...paragraph(run, place)]
}

/** Converts a body to Markdown: CommonMark with GitHub tables. */
export const markdownOf = (root: ParentNode, base: string): string =>
  blocks(root.children, { base, depth: 0 }).join('\n\n')
