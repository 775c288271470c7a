// @ts-expect-error -- this part of the package comes without types
import parser from 'css-tree/selector-parser'
import { z } from 'zod'

/** As much of a tree of css-tree as is looked at. */
interface Node {
  readonly type: string
  readonly name?: unknown
  readonly loc?: { readonly start: { readonly offset: number } }
  /** Null where there are no parentheses. */
  readonly children?: Iterable<Node> | null
  /** Of an `An+B of S`. */
  readonly selector?: Node | null
}

const parse = parser as (
  text: string,
  options: { readonly context: 'selectorList'; readonly positions: true },
) => Node

/** What a pseudo-class has in its parentheses, if it has any. */
type Argument = 'none' | 'selectors' | 'nth'

const named = (argument: Argument, names: string): readonly [string, Argument][] =>
  names.split(' ').map((name) => [name, argument])

/**
 * Pseudo-classes that say something of a page at rest, and that the browser (`wait_for`) and the
 * reader of articles (`exclude`) both know.
 */
export const PSEUDO_CLASSES: ReadonlyMap<string, Argument> = new Map([
  ...named('none', 'any-link checked disabled empty enabled first-child first-of-type last-child'),
  ...named('none', 'last-of-type link only-child only-of-type optional required root'),
  ...named('selectors', 'has is not where'),
  ...named('nth', 'nth-child nth-last-child nth-last-of-type nth-of-type'),
])

/** A CSS selector; what is wrong with another text is said with its place. */
export const selector = z
  .string()
  .trim()
  .min(1)
  .max(200)
  .check(({ value, issues }) => {
    const fault = faultOf(value)
    if (fault)
      issues.push({ code: 'custom', input: value, message: `is no CSS selector: ${fault}` })
  })

function faultOf(text: string): string | undefined {
  try {
    return faultIn(parse(text, { context: 'selectorList', positions: true }))
  } catch (error) {
    if (!(error instanceof Error) || !('offset' in error)) throw error
    const message = error.message.charAt(0).toLowerCase() + error.message.slice(1)
    return at(Number(error.offset), message)
  }
}

/** What is CSS, and yet no selector that both know, or none that ever finds anything. */
function faultIn(node: Node): string | undefined {
  const inner = [...(node.children ?? [])]
  const why = strangeness(node, inner)
  if (why) return at(node.loc?.start.offset ?? 0, why)
  for (const child of inner) {
    const fault = faultIn(child)
    if (fault) return fault
  }
  return undefined
}

function strangeness({ type, name, selector }: Node, inner: readonly Node[]): string | undefined {
  if (type === 'PseudoElementSelector') return `::${String(name)} finds no element`
  if (type === 'NestingSelector') return '& stands in style sheets alone'
  if (type === 'Percentage') return 'a percentage is no selector'
  if (type === 'Nth' && selector) return '“of” is not read'
  if (type === 'TypeSelector' && String(name).includes('|')) return 'namespaces are not read'
  if (type !== 'PseudoClassSelector') return undefined
  const wanted = PSEUDO_CLASSES.get(String(name).toLowerCase())
  if (!wanted) return `:${String(name)} is not known`
  const given = inner[0]?.type === 'Nth' ? 'nth' : inner.length === 0 ? 'none' : 'selectors'
  return given === wanted ? undefined : `:${String(name)} has ${ARGUMENTS[wanted]}`
}

const ARGUMENTS: Readonly<Record<Argument, string>> = {
  none: 'no parentheses',
  selectors: 'selectors in parentheses',
  nth: 'a position in parentheses',
}

const at = (offset: number, message: string): string => `${message}, at character ${offset + 1}`
