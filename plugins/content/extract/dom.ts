import { type ChildNode, type Document, DomHandler } from 'domhandler'
import { Parser } from 'htmlparser2'
import { ExtractionError } from './article.ts'

/** Characters of markup; the largest of 20,000 news pages has 3 million. */
const CHARACTERS_MAX = 8_000_000
const NODES_MAX = 250_000
/** Chromium itself nests no deeper than 512. Within it, a recursion is safe. */
const DEPTH_MAX = 600

/** Builds the tree and stops when it becomes too large or too deep. */
class BoundedHandler extends DomHandler {
  #nodes = 0

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
  return handler.root
}
