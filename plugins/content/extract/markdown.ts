import { type ChildNode, type Element, isTag, isText, type ParentNode } from 'domhandler'
import { alertOf, isAlertTitle } from './admonitions.ts'
import { holdsAny } from './elements.ts'
import { htmlTableOf, isSpanning } from './html-table.ts'
import { escapeLineStart, fenceFor, type InlineContext, inlineOf, tableOf } from './inline.ts'
import { collapseSpaces, INLINE } from './measure.ts'
import { captionOf, isPlain, rowsOf } from './tables.ts'
import { textOf } from './text.ts'

/** Maximum nesting of lists and quotes; deeper ones are not indented further. */
const INDENT_MAX = 12

/** Context of a block. */
interface Place extends InlineContext {
  /** Nesting depth in lists and quotes. */
  readonly depth: number
}

const inner = (place: Place): Place => ({ ...place, depth: place.depth + 1 })

function paragraph(nodes: readonly ChildNode[], place: Place): string[] {
  const lines = inlineOf(nodes, place).split('\n').map(collapseSpaces)
  const text = lines.filter((line) => line !== '').map(escapeLineStart)
  return text.length === 0 ? [] : [text.join('\\\n')]
}

/** Matches a list that may follow a paragraph without a blank line (CommonMark, section 5.2). */
const LIST_START = /^(?:- |1\. )/

/** Joins the blocks of a list item; a nested list follows its line. */
const joinItem = (parts: readonly string[]): string =>
  parts.reduce((text, part) => `${text}${LIST_START.test(part) ? '\n' : '\n\n'}${part}`)

/** @param items blocks of each item */
function listOf(
  items: readonly (readonly string[])[],
  place: Place,
  markOf: (at: number) => string = () => '- ',
): string[] {
  const lines = items
    .filter((parts) => parts.length > 0)
    .map((parts, at) => {
      const mark = markOf(at)
      const indent = place.depth < INDENT_MAX ? ' '.repeat(mark.length) : ''
      return mark + joinItem(parts).replace(/\n(?!\n)/g, `\n${indent}`)
    })
  return lines.length === 0 ? [] : [lines.join('\n')]
}

function list(node: Element, place: Place): string[] {
  const first = Number.parseInt(node.attribs['start'] ?? '1', 10) || 1
  const items = node.children
    .filter((child) => isTag(child))
    .map((item) => blocks(item.children, inner(place)))
  return listOf(items, place, (at) => (node.name === 'ol' ? `${first + at}. ` : '- '))
}

/** Converts terms and their definitions to a list of bold terms. */
function definitions(node: Element, place: Place): string[] {
  const items: string[][] = []
  const parts = node.children.flatMap((child) =>
    isTag(child) && child.name === 'div' ? child.children : [child],
  )
  for (const part of parts) {
    if (!isTag(part)) continue
    if (part.name === 'dt') {
      const term = collapseSpaces(inlineOf(part.children, place))
      items.push(term === '' ? [] : [term.includes('**') ? term : `**${term}**`])
    } else {
      const definition = blocks(part.children, inner(place))
      if (items.length === 0) items.push([])
      items.at(-1)!.push(...definition)
    }
  }
  return listOf(items, place)
}

function table(node: Element, place: Place): string[] {
  const rows = rowsOf(node)
  if (rows === undefined) return blocks(node.children, place)
  const caption = paragraph(captionOf(node)?.children ?? [], place)
  if (!rows.flat().every((cell) => isPlain(cell) && !isSpanning(cell))) {
    return [...caption, htmlTableOf(rows, place)]
  }
  const cells = rows.map((row) => row.map((cell) => collapseSpaces(inlineOf(cell.children, place))))
  return [...caption, tableOf(cells)]
}

const LANGUAGE =
  /(?:^| )(?:(?:language|lang|highlight-source)[-: ]|brush: ?|highlight-|hljs )([\w+#][\w+#-]*)/
/** Values of {@link LANGUAGE} that name none. */
const NO_LANGUAGE = /^(?:default|none|notranslate|text|plaintext|source|wrapper)$/

/** Returns the language named by a highlighter on the code or up to two elements around it. */
function languageOf(pre: Element): string {
  const code = pre.children.find((child) => isTag(child))
  const around = pre.parent && isTag(pre.parent) ? [pre.parent, pre.parent.parent] : []
  for (const node of [code, pre, ...around]) {
    if (!node || !isTag(node)) continue
    const { attribs } = node
    const named = attribs['data-lang'] ?? attribs['data-language']
    const language = named ?? LANGUAGE.exec(attribs['class'] ?? '')?.[1]
    if (language !== undefined) return NO_LANGUAGE.test(language) ? '' : language
  }
  return ''
}

function code(pre: Element): string[] {
  const text = textOf(pre)
  const fence = fenceFor(text, 3)
  return text === '' ? [] : [`${fence}${languageOf(pre)}\n${text}\n${fence}`]
}

function quote(node: Element, place: Place): string[] {
  return asQuote(blocks(node.children, inner(place)), place)
}

function asQuote(parts: readonly string[], place: Place): string[] {
  if (parts.length === 0 || place.depth >= INDENT_MAX) return [...parts]
  return [parts.join('\n\n').replace(/^/gm, '> ').replace(/^> $/gm, '>')]
}

/** Converts an admonition to an alert of GitHub Flavored Markdown. */
function alert(node: Element, place: Place, type: string): string[] {
  const parts = blocks(node.children, inner(place))
  const body = parts[0] !== undefined && isAlertTitle(parts[0]) ? parts.slice(1) : parts
  return body.length === 0 ? [] : asQuote([`[!${type}]\n${body[0]}`, ...body.slice(1)], place)
}

function block(node: Element, place: Place): string[] {
  const level = /^h([1-6])$/.exec(node.name)?.[1]
  if (level !== undefined) {
    const text = collapseSpaces(inlineOf(node.children, place))
    return text === '' ? [] : [`${'#'.repeat(Number(level))} ${text}`]
  }
  switch (node.name) {
    case 'hr':
      return ['---']
    case 'ul':
    case 'ol':
      return list(node, place)
    case 'dl':
      return definitions(node, place)
    case 'table':
      return table(node, place)
    case 'pre':
      return code(node)
    case 'blockquote':
      return quote(node, place)
    default: {
      const type = alertOf(node)
      return type === undefined ? blocks(node.children, place) : alert(node, place, type)
    }
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

const FORMULAS: ReadonlySet<string> = new Set(['math'])

/** Converts a body to Markdown: CommonMark with GitHub tables. */
export const markdownOf = (root: ParentNode, base: string): string =>
  blocks(root.children, { base, depth: 0, hasFormulas: holdsAny(root, FORMULAS) }).join('\n\n')
