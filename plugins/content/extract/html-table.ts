import { type ChildNode, type Element, isTag, isText } from 'domhandler'
import type { InlineContext } from './inline.ts'
import { absolute } from './metadata.ts'
import { textOf } from './text.ts'

const KEPT: ReadonlySet<string> = new Set(
  'a b strong i em code s del sub sup br img p ul ol li dl dt dd pre blockquote'.split(' '),
)
const EMPTY: ReadonlySet<string> = new Set(['br', 'img'])
const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
}

const escapeHtml = (text: string): string => text.replace(/[&<>"]/g, (mark) => ESCAPES[mark]!)

const attribute = (name: string, value: string | undefined): string =>
  value === undefined ? '' : ` ${name}="${escapeHtml(value)}"`

const spanOf = (cell: Element, name: string): string | undefined => {
  const count = Number.parseInt(cell.attribs[name] ?? '', 10)
  return count > 1 && count < 1_000 ? String(count) : undefined
}

/** Returns true if a cell spans several rows or columns, which tables of Markdown cannot. */
export const isSpanning = (cell: Element): boolean =>
  spanOf(cell, 'colspan') !== undefined || spanOf(cell, 'rowspan') !== undefined

/** Escapes words; a dollar that belongs to no formula becomes a reference. */
const escapeWords = (text: string, { hasFormulas }: InlineContext): string =>
  hasFormulas ? escapeHtml(text).replaceAll('$', '&#36;') : escapeHtml(text)

function htmlOf(nodes: readonly ChildNode[], context: InlineContext, isCode: boolean): string {
  return nodes
    .map((node) => {
      if (isText(node)) {
        // A blank line would end the table for a reader of Markdown.
        const text = escapeWords(node.data, context)
        return isCode ? text.replace(/\r?\n/g, '&#10;') : text.replace(/\s+/g, ' ')
      }
      if (!isTag(node)) return ''
      const { name, attribs } = node
      if (name === 'math') return escapeHtml(textOf(node))
      const inner = htmlOf(node.children, context, isCode || name === 'pre')
      if (!KEPT.has(name)) return inner
      const href = name === 'a' ? attribute('href', absolute(attribs['href'], context.base)) : ''
      const image =
        name === 'img'
          ? attribute('src', absolute(attribs['src'], context.base)) +
            attribute('alt', attribs['alt'])
          : ''
      return `<${name}${href}${image}>${EMPTY.has(name) ? '' : `${inner}</${name}>`}`
    })
    .join('')
}

/** Writes a table as HTML, with spans and with lists and code in cells. */
export function htmlTableOf(rows: readonly (readonly Element[])[], context: InlineContext): string {
  const lines = rows.map((row) => {
    const cells = row.map((cell) => {
      const spans = ['colspan', 'rowspan'].map((name) => attribute(name, spanOf(cell, name)))
      const inner = htmlOf(cell.children, context, false).trim()
      return `<${cell.name}${spans.join('')}>${inner}</${cell.name}>`
    })
    return `<tr>${cells.join('')}</tr>`
  })
  return ['<table>', ...lines, '</table>'].join('\n')
}
