import { type ChildNode, Document, DomHandler, Element } from 'domhandler'
import { Parser } from 'htmlparser2'
import { ExtractionError } from './article.ts'

/** Characters of markup; the largest page of the benchmark has 1.1 million. */
const CHARACTERS_MAX = 8_000_000
const NODES_MAX = 250_000
/** Chromium itself nests no deeper than 512. Within it, a recursion is safe. */
const DEPTH_MAX = 400

/** Elements that change how the parser reads what they hold; it remembers those left open. */
const CONTEXTS: ReadonlySet<string> = new Set(
  'svg math mi mo mn ms mtext annotation-xml foreignobject desc title'.split(' '),
)
const OPEN_CONTEXTS_MAX = 2_000

/** Builds the tree and stops when it becomes too large or too deep. */
class BoundedHandler extends DomHandler {
  #nodes = 0
  #contexts = 0

  override addNode(node: ChildNode): void {
    this.#nodes++
    if (this.#nodes > NODES_MAX) {
      throw new ExtractionError('content_unreadable', `The page has over ${NODES_MAX} nodes.`)
    }
    if (this.tagStack.length > DEPTH_MAX) {
      throw new ExtractionError('content_unreadable', `The page nests over ${DEPTH_MAX} deep.`)
    }
    super.addNode(node)
  }

  override onclosetag(name?: string, isImplied?: boolean): void {
    if (isImplied && name !== undefined && CONTEXTS.has(name)) this.#contexts++
    if (this.#contexts > OPEN_CONTEXTS_MAX) {
      throw new ExtractionError('content_unreadable', 'The page leaves too many elements open.')
    }
    super.onclosetag()
  }
}

/**
 * Parses HTML, well-formed or not, in time linear in its length.
 *
 * @throws ExtractionError `content_unreadable` when it is too long, too deep or too rich in nodes
 */
export function parse(html: string): Document {
  if (html.length > CHARACTERS_MAX) {
    throw new ExtractionError('content_unreadable', `The page is over ${CHARACTERS_MAX} long.`)
  }
  const handler = new BoundedHandler()
  const parser = new Parser(handler)
  parser.end(html)
  return wrapped(handler.root.children)
}

/**
 * A document with one element that holds these nodes. Selecting below many nodes takes time in
 * proportion to the square of their number, below one it does not.
 */
export function wrapped(nodes: ChildNode[]): Document {
  const element = new Element('div', {}, nodes)
  for (const node of nodes) node.parent = element
  const root = new Document([element])
  element.parent = root
  return root
}
