import { type Element, isTag, isText, type ParentNode } from 'domhandler'
import { type Measure, type Measures, measureOf } from './measure.ts'
import { rowsOf } from './tables.ts'

/** Stands for a name of elements that are not shown. */
export const HIDDEN_NAME = '(hidden)'
const COMMENTS = ['comment', 'komment', 'coment', 'disqus', 'respon', 'repl'] as const
/** Names of parts that are not the text of a page even if it has no other. */
const NEVER_TEXT = ['footer', 'cookie', 'consent', 'onetrust', 'gdpr'] as const
/** Names of parts that may be longer than their article, as comments and popups may. */
const LONG_PARTS = ['sidebar', 'side bar', 'popup', ...NEVER_TEXT] as const

export const isComments = (name: string): boolean =>
  COMMENTS.some((beginning) => name.startsWith(beginning))

/** Shares of the prose above which the elements of one name are the layout of the page. */
const LAYOUT_SHARE = 0.5
export const HIDDEN_SHARE = 0.6
const LONG_PARTS_SHARE = 0.97
/** Characters of unlinked text that make a page without its long part. */
const REST_MIN = 150
/** Maximum nesting of names that are layout. */
const ROUNDS_MAX = 8

/** Elements without text. */
const SILENT: ReadonlySet<string> = new Set(['img', 'picture', 'br', 'hr'])
const WHOLES: ReadonlySet<string> = new Set(['pre', 'code', 'blockquote', 'math'])

/** Returns true if parts are never removed by name: of quotes, code, formulas and data tables. */
export const isWhole = (node: ParentNode): boolean =>
  isTag(node) && (WHOLES.has(node.name) || (node.name === 'table' && rowsOf(node) !== undefined))

/** Returns true for an element whose text is all in one quote, such as an embedded post. */
const wrapsQuote = (node: ParentNode): boolean => {
  const [only, ...others] = node.children.filter(
    (child) =>
      (isTag(child) && !SILENT.has(child.name)) || (isText(child) && child.data.trim() !== ''),
  )
  if (only === undefined || others.length > 0 || !isTag(only)) return false
  return only.name === 'blockquote' || wrapsQuote(only)
}

/** Gives elements the names by which they may be removed. */
export type NameOf = (element: Element) => string | undefined

/** Names elements once, however often they are asked for; wholes and quotes have no name. */
export function rememberNames(nameOf: NameOf): NameOf {
  const names = new Map<Element, string | undefined>()
  return (element) => {
    if (!names.has(element)) {
      const isKept = isWhole(element) || wrapsQuote(element)
      names.set(element, isKept ? undefined : nameOf(element))
    }
    return names.get(element)
  }
}

/**
 * Returns the names whose elements hold most of the prose together: they name the layout. What is
 * inside such elements is named by the elements within.
 */
export function layoutNames(
  root: ParentNode,
  measures: Measures,
  nameOf: NameOf,
): ReadonlySet<string> {
  const layout = new Set<string>()
  const whole = measures.get(root)?.prose ?? 0
  for (let round = 0; round < ROUNDS_MAX; round++) {
    const sums = new Map<string, number>()
    addProse(root, sums, measures, (element) => {
      const name = nameOf(element)
      return name === undefined || layout.has(name) ? undefined : name
    })
    const found = [...sums].filter(([name, prose]) => prose > shareOf(name) * whole)
    for (const [name] of found) layout.add(name)
    if (found.length > 0) continue
    const only = onlyText(sums, measures.get(root))
    if (only === undefined) break
    layout.add(only)
  }
  return layout
}

/** Returns the name of the long part without which hardly any text would remain. */
function onlyText(
  sums: ReadonlyMap<string, number>,
  whole: Measure | undefined,
): string | undefined {
  const [most] = [...sums].sort(([, one], [, other]) => other - one)
  if (!whole || most === undefined) return undefined
  const [name, prose] = most
  const named = [...sums.values()].reduce((sum, each) => sum + each, 0)
  const rest = whole.text - whole.linked - named
  const mayBeText = isLongPart(name) && !NEVER_TEXT.some((each) => name.startsWith(each))
  return mayBeText && prose > rest && rest < REST_MIN ? name : undefined
}

/** Adds up the prose of the outermost elements of each name. */
function addProse(
  node: ParentNode,
  sums: Map<string, number>,
  measures: Measures,
  nameOf: NameOf,
): void {
  if (isWhole(node)) return
  for (const child of node.children) {
    if (!isTag(child)) continue
    const name = nameOf(child)
    if (name === undefined) addProse(child, sums, measures, nameOf)
    else sums.set(name, (sums.get(name) ?? 0) + measureOf(measures, child).prose)
  }
}

function shareOf(name: string): number {
  if (name === HIDDEN_NAME) return HIDDEN_SHARE
  return isLongPart(name) ? LONG_PARTS_SHARE : LAYOUT_SHARE
}

const isLongPart = (name: string): boolean =>
  isComments(name) || LONG_PARTS.some((beginning) => name.startsWith(beginning))
