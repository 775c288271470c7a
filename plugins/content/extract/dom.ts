import { type ChildNode, Document, DomHandler, Element } from 'domhandler'
import { Parser } from 'htmlparser2'
import { ExtractionError } from './article.ts'

/** Maximum characters of markup; the largest benchmark page has 1.1 million. */
const CHARACTERS_MAX = 8_000_000
const NODES_MAX = 250_000
/** Maximum depth, as in Chromium; recursion is safe within it. */
const DEPTH_MAX = 400

/** Elements that switch the parser's mode; the parser keeps a stack of open ones. */
const CONTEXTS: ReadonlySet<string> = new Set(
  'svg math mi mo mn ms mtext annotation-xml foreignobject desc title'.split(' '),
)
const OPEN_CONTEXTS_MAX = 2_000

/** Builds the tree and fails if it becomes too large or too deep. */
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

/** Linear in length. @throws ExtractionError `content_unreadable` if too long or complex */
export function parse(html: string): Document {
  if (html.length > CHARACTERS_MAX) {
    throw new ExtractionError('content_unreadable', `The page is over ${CHARACTERS_MAX} long.`)
  }
  const handler = new BoundedHandler()
  const parser = new Parser(handler)
  parser.end(html)
  return wrapNodes(handler.root.children)
}

/** Selecting below many nodes takes quadratic time; below one element it does not. */
export function wrapNodes(nodes: ChildNode[]): Document {
  const element = new Element('div', {}, nodes)
  for (const node of nodes) node.parent = element
  const root = new Document([element])
  element.parent = root
  return root
}
