import { type ChildNode, type Element, isTag, isText } from 'domhandler'
import { collapseSpaces } from './measure.ts'
import { absolute } from './metadata.ts'
import { textOf } from './text.ts'

const MARKS: Readonly<Record<string, string>> = {
  strong: '**',
  b: '**',
  em: '_',
  i: '_',
  del: '~~',
  s: '~~',
  strike: '~~',
}
const CODE: ReadonlySet<string> = new Set(['code', 'kbd', 'samp', 'tt'])

/** Context of inline content. */
export interface InlineContext {
  /** Base URL of links. */
  readonly base: string
  /** True if the document has formulas: an unescaped dollar sign then begins or ends one. */
  readonly hasFormulas: boolean
}

/** Escapes marks in words. */
export const escapeMarkdown = (text: string): string =>
  text
    .replace(/[\\`*[\]]/g, '\\$&')
    .replace(/(^|\W)_|_(?=\W|$)/g, (mark) => mark.replace('_', '\\_'))
    .replace(/<(?=[a-z!/?])/gi, '\\<')

/** Escapes a line that would start a heading, quote or list. */
export const escapeLineStart = (line: string): string =>
  line.replace(/^([#>+-])(?=\s|#)/, '\\$1').replace(/^(\d+)([.)])(?=\s)/, '$1\\$2')

/** Wraps text in a mark, keeping surrounding spaces outside. */
function wrapWithMark(mark: string, text: string): string {
  const inner = text.trim()
  if (inner === '') return text
  const at = text.indexOf(inner)
  return `${text.slice(0, at)}${mark}${inner}${mark}${text.slice(at + inner.length)}`
}

/** Returns a fence longer than any run of backquotes in the text. */
export function fenceFor(text: string, least: number): string {
  let longest = 0
  for (const [run] of text.matchAll(/`+/g)) longest = Math.max(longest, run.length)
  return '`'.repeat(Math.max(least, longest + 1))
}

const addressOf = (href: string | undefined, base: string): string | undefined =>
  absolute(href, base)?.replace(/[()\s]/g, (mark) => `%${mark.charCodeAt(0).toString(16)}`)

/** Escapes words of a document in which dollars may enclose formulas. */
function escapeWords(text: string, { hasFormulas }: InlineContext): string {
  const escaped = escapeMarkdown(text)
  return hasFormulas ? escaped.replaceAll('$', '\\$') : escaped
}

function elementOf(node: Element, context: InlineContext): string {
  if (node.name === 'br') return '\n'
  if (node.name === 'img') {
    const source = addressOf(node.attribs['src'], context.base)
    const alt = escapeWords(collapseSpaces(node.attribs['alt'] ?? ''), context)
    return source === undefined ? '' : `![${alt}](${source})`
  }
  if (CODE.has(node.name)) {
    const code = collapseSpaces(textOf(node))
    const fence = fenceFor(code, 1)
    return code === '' ? '' : `${fence}${code}${fence}`
  }
  if (node.name === 'math') return textOf(node)
  const text = inlineOf(node.children, context)
  if (node.name === 'a') {
    const address = addressOf(node.attribs['href'], context.base)
    return address === undefined || text.trim() === '' ? text : `[${text.trim()}](${address})`
  }
  const mark = MARKS[node.name]
  return mark === undefined ? text : wrapWithMark(mark, text)
}

/** Converts inline content to Markdown; `br` is a line break. */
export const inlineOf = (nodes: readonly ChildNode[], context: InlineContext): string =>
  nodes
    .map((node) => {
      if (isText(node)) return escapeWords(node.data.replace(/\s+/g, ' '), context)
      return isTag(node) ? elementOf(node, context) : ''
    })
    .join('')

/** Writes a table, the first row as its head. @param rows cells in Markdown */
export function tableOf(rows: readonly (readonly string[])[]): string {
  const width = rows.reduce((most, row) => Math.max(most, row.length), 0)
  const [head, ...others] = rows.map((row) => {
    const cells = Array.from({ length: width }, (_, at) => (row[at] ?? '').replaceAll('|', '\\|'))
    return `| ${cells.join(' | ')} |`
  })
  return [head, `|${' --- |'.repeat(width)}`, ...others].join('\n')
}
