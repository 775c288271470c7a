import { createRequire } from 'node:module'
import { z } from 'zod'

/** Syntax tree of css-tree, limited to the members used here. */
interface Node {
  readonly type: string
  readonly name?: unknown
  readonly loc?: { readonly start: { readonly offset: number } }
  /** Null if there are no parentheses. */
  readonly children?: Iterable<Node> | null
  /** `S` of `An+B of S`. */
  readonly selector?: Node | null
}

type Parse = (
  text: string,
  options: { readonly context: 'selectorList'; readonly positions: true },
) => Node

const require = createRequire(import.meta.url)
/** Loaded when used: its 43 modules would delay each start. */
const parse: Parse = (...input) => (require('css-tree/selector-parser') as Parse)(...input)

/** Kind of argument of a pseudo-class. */
type Argument = 'none' | 'selectors' | 'nth'

const entries = (argument: Argument, names: string): readonly [string, Argument][] =>
  names.split(' ').map((name) => [name, argument])

/** Static pseudo-classes that both browser (`wait_for`) and article reader (`exclude`) support. */
export const PSEUDO_CLASSES: ReadonlyMap<string, Argument> = new Map([
  ...entries(
    'none',
    'any-link checked disabled empty enabled first-child first-of-type last-child',
  ),
  ...entries('none', 'last-of-type link only-child only-of-type optional required root'),
  ...entries('selectors', 'has is not where'),
  ...entries('nth', 'nth-child nth-last-child nth-last-of-type nth-of-type'),
])

/** CSS selector. Errors name the position. */
export const selector = z
  .string()
  .trim()
  .min(1)
  .max(200)
  .check(({ value, issues }) => {
    const fault = parseError(value)
    if (fault)
      issues.push({ code: 'custom', input: value, message: `must be a CSS selector: ${fault}` })
  })

function parseError(text: string): string | undefined {
  try {
    return nodeError(parse(text, { context: 'selectorList', positions: true }))
  } catch (error) {
    if (!(error instanceof Error) || !('offset' in error)) throw error
    const message = error.message.charAt(0).toLowerCase() + error.message.slice(1)
    return withPosition(Number(error.offset), message)
  }
}

/** Finds valid CSS that is not supported by both readers or never matches an element. */
function nodeError(node: Node): string | undefined {
  const inner = [...(node.children ?? [])]
  const why = unsupported(node, inner)
  if (why) return withPosition(node.loc?.start.offset ?? 0, why)
  for (const child of inner) {
    const fault = nodeError(child)
    if (fault) return fault
  }
  return undefined
}

function unsupported({ type, name, selector }: Node, inner: readonly Node[]): string | undefined {
  if (type === 'PseudoElementSelector') return `::${String(name)} never matches an element`
  if (type === 'NestingSelector') return '& is only valid in style sheets'
  if (type === 'Percentage') return 'a percentage is not a selector'
  if (type === 'Nth' && selector) return '“of” is not supported'
  if (type === 'TypeSelector' && String(name).includes('|')) return 'namespaces are not supported'
  if (type !== 'PseudoClassSelector') return undefined
  const wanted = PSEUDO_CLASSES.get(String(name).toLowerCase())
  if (!wanted) return `:${String(name)} is not supported`
  const given = inner[0]?.type === 'Nth' ? 'nth' : inner.length === 0 ? 'none' : 'selectors'
  return given === wanted ? undefined : `:${String(name)} takes ${ARGUMENT_DESCRIPTIONS[wanted]}`
}

const ARGUMENT_DESCRIPTIONS: Readonly<Record<Argument, string>> = {
  none: 'no parentheses',
  selectors: 'selectors in parentheses',
  nth: 'a position in parentheses',
}

const withPosition = (offset: number, message: string): string =>
  `${message}, at character ${offset + 1}`
