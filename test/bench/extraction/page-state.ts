import { Document, Element, isTag, isText, type ParentNode, Text } from 'domhandler'
import { parse, wrapNodes } from '../../../plugins/content/extract/dom.ts'
import { beginTrace } from './trace.ts'

/** Steps of the extractor whose results on a page configurations share. */
export type Step = 'metadata' | 'kind' | 'data' | 'clean' | 'body'

/** The page that is being read. */
let html = ''
let tree: Document | undefined
let reused: ReadonlySet<Step> = new Set()
/** Results of steps on the page. */
let results = new Map<string, unknown>()

/** Starts a page: nothing is known of it. */
export function beginPage(markup: string): void {
  html = markup
  tree = undefined
  results = new Map()
  beginTrace()
}

/** Selects the steps whose results the next reading of the page may share. */
export const reuse = (steps: ReadonlySet<Step>): void => {
  reused = steps
}

/** Copies a tree in its state; siblings that were removed from it stay as they are. */
function copy<T extends ParentNode>(node: T): T {
  const children = node.children.map((child) => {
    if (isTag(child)) return copy(child)
    return isText(child) ? new Text(child.data) : child
  })
  const clones = new Map(node.children.map((child, at) => [child, children[at]!]))
  node.children.forEach((child, at) => {
    const clone = children[at]!
    clone.prev = (child.prev && clones.get(child.prev)) ?? child.prev
    clone.next = (child.next && clones.get(child.next)) ?? child.next
  })
  const result = isTag(node)
    ? new Element(node.name, { ...node.attribs }, children)
    : new Document(children)
  node.children.forEach((child, at) => {
    children[at]!.parent = child.parent === node ? result : child.parent
  })
  result.parent = node.parent
  return result as unknown as T
}

/** Returns true if nothing reads the tree before surroundings are removed from it. */
const skipsTree = (): boolean =>
  (['metadata', 'kind', 'data', 'clean'] as const).every((step) => reused.has(step))

/** Parses a fragment, or copies the tree of the page. */
export function parseOnce(markup: string): Document {
  if (markup !== html) return parse(markup)
  if (results.has('hidden') && skipsTree()) return wrapNodes([])
  tree ??= parse(html)
  return copy(tree)
}

/** Shares a result that depends on the page and the last argument. */
export const shared =
  <A extends unknown[], R>(step: Step, name: string, own: (...args: A) => R) =>
  (...args: A): R => {
    if (!reused.has(step)) return own(...args)
    const key = `${name} ${String(args.at(-1))}`
    if (!results.has(key)) results.set(key, own(...args))
    return results.get(key) as R
  }

/** Shares the state of the tree after a step that changes it. */
const changes =
  <A extends unknown[]>(
    nameOf: (...args: A) => string,
    own: (root: ParentNode, ...args: A) => void,
    isNeeded: () => boolean,
  ) =>
  (root: ParentNode, ...args: A): void => {
    const name = nameOf(...args)
    const known = results.get(name) as ParentNode | undefined
    if (!reused.has('clean') || known === undefined) {
      own(root, ...args)
      if (reused.has('clean')) results.set(name, copy(root))
    } else if (isNeeded()) {
      root.children = copy(known).children
      for (const child of root.children) child.parent = root
    }
  }

export const sharedHidden = (own: (root: ParentNode) => void) =>
  changes(
    () => 'hidden',
    own,
    () => !skipsTree() || [...results.values()].includes('product'),
  )

export const sharedSurroundings = (own: (root: ParentNode, kind: string) => void) =>
  changes(
    (kind: string) => `surroundings ${kind}`,
    own,
    () => true,
  )

export const sharedBody =
  (own: (root: ParentNode, kind: string) => ParentNode) =>
  (root: ParentNode, kind: string): ParentNode => {
    if (!reused.has('body')) return own(root, kind)
    const key = `body ${kind}`
    if (!results.has(key)) results.set(key, own(root, kind))
    return copy(results.get(key) as ParentNode)
  }
