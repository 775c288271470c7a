import { SaxesParser, type SaxesTagNS } from 'saxes'

/** A document that cannot be read as a notice; `reason` is stable. */
export class Unreadable extends Error {
  override readonly name = 'Unreadable'
  readonly reason: string
  constructor(reason: string, detail: string) {
    super(detail.slice(0, 500))
    this.reason = reason
  }
}

const BYTES_MAX = 32 * 1_048_576
const ELEMENTS_MAX = 1_000_000
const DEPTH_MAX = 64
const PIECE = 65_536

/** Usual prefixes by namespace; documents may use others. */
const PREFIXES: Readonly<Record<string, string>> = {
  'urn:oasis:names:specification:ubl:schema:xsd:CommonAggregateComponents-2': 'cac:',
  'urn:oasis:names:specification:ubl:schema:xsd:CommonBasicComponents-2': 'cbc:',
  'urn:oasis:names:specification:ubl:schema:xsd:CommonExtensionComponents-2': 'ext:',
  'http://data.europa.eu/p27/eforms-ubl-extension-aggregate-components/1': 'efac:',
  'http://data.europa.eu/p27/eforms-ubl-extension-basic-components/1': 'efbc:',
  'http://data.europa.eu/p27/eforms-ubl-extensions/1': 'efext:',
}

/** Parsed paths; few, because they are all constants. */
const paths = new Map<string, readonly string[]>()

function namesOf(path: string): readonly string[] {
  const known = paths.get(path)
  if (known) return known
  const names = path.split('/')
  paths.set(path, names)
  return names
}

/** An element: its name with the usual prefix, and its content. */
export class Node {
  readonly name: string
  readonly namespace: string
  readonly attributes: Readonly<Record<string, string>>
  readonly children: Node[] = []
  content = ''
  /** Length of the parent's text before this element, to restore the order of mixed content. */
  offset = 0

  constructor(name: string, namespace: string, attributes: Readonly<Record<string, string>>) {
    this.name = name
    this.namespace = namespace
    this.attributes = attributes
  }

  /** All elements at a path of names below this one, such as `cac:Party/cac:PartyName`. */
  all(path: string): Node[] {
    let nodes: Node[] = [this]
    for (const name of namesOf(path)) {
      const found: Node[] = []
      for (const { children } of nodes) {
        for (const child of children) if (child.name === name) found.push(child)
      }
      nodes = found
    }
    return nodes
  }

  first(path: string): Node | undefined {
    return this.all(path)[0]
  }

  /** The text of the first element there, without white space around; undefined when empty. */
  text(path: string): string | undefined {
    return this.all(path)
      .map(textOf)
      .find((text) => text !== '')
  }

  texts(path: string): string[] {
    return this.all(path)
      .map(textOf)
      .filter((text) => text !== '')
  }
}

/** The text of an element alone, without white space around. */
export const textOf = ({ content }: Node): string => content.trim()

/** Marks up characters inside a text: `m<FT TYPE="SUP">3</FT>`. */
const INLINE = 'FT'

/** All text inside, in order; a paragraph is a line, and markup inside a text is no break. */
export function wholeText(node: Node): string {
  const { content, children } = node
  if (children.length === 0) return content.trim()
  let text = ''
  let at = 0
  for (const child of children) {
    const own = wholeText(child)
    text += content.slice(at, child.offset) + (child.name === INLINE ? own : `\n${own}\n`)
    at = child.offset
  }
  return (text + content.slice(at))
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .join('\n')
}

/**
 * Reads a document strictly.
 * @throws Unreadable `too_large`, `too_deep`, or `not_xml` if it is not well-formed XML with
 * namespaces, is truncated, or has a document type (which could define entities)
 */
export function parseXml(xml: Uint8Array | string): Node {
  const bytes = typeof xml === 'string' ? Buffer.byteLength(xml) : xml.byteLength
  if (bytes > BYTES_MAX) throw new Unreadable('too_large', `${bytes} bytes`)
  const builder = new Builder()
  const parser = new SaxesParser({ xmlns: true, position: true })
  parser.on('error', (error) => {
    throw new Unreadable('not_xml', error.message)
  })
  parser.on('doctype', () => {
    throw new Unreadable('not_xml', 'has a document type')
  })
  parser.on('opentag', (tag) => builder.open(tag))
  parser.on('text', (text) => builder.text(text))
  parser.on('cdata', (text) => builder.text(text))
  parser.on('closetag', () => builder.close())
  for (const piece of piecesOf(xml)) parser.write(piece)
  parser.close()
  if (!builder.root) throw new Unreadable('not_xml', 'has no element')
  return builder.root
}

function* piecesOf(xml: Uint8Array | string): Generator<string> {
  if (typeof xml === 'string') {
    for (let at = 0; at < xml.length; at += PIECE) yield xml.slice(at, at + PIECE)
    return
  }
  const decoder = new TextDecoder('utf-8', { fatal: true })
  try {
    for (let at = 0; at < xml.byteLength; at += PIECE) {
      yield decoder.decode(xml.subarray(at, at + PIECE), { stream: true })
    }
    yield decoder.decode()
  } catch (error) {
    if (error instanceof TypeError) throw new Unreadable('not_xml', 'is not UTF-8')
    throw error
  }
}

class Builder {
  root: Node | undefined
  readonly #open: Node[] = []
  #count = 0

  open({ local, uri, attributes: given }: SaxesTagNS): void {
    this.#count += 1
    if (this.#count > ELEMENTS_MAX) throw new Unreadable('too_large', 'too many elements')
    if (this.#open.length >= DEPTH_MAX) throw new Unreadable('too_deep', `${DEPTH_MAX} levels`)
    const attributes: Record<string, string> = {}
    for (const name in given) attributes[given[name]!.local] = given[name]!.value
    const node = new Node(`${PREFIXES[uri] ?? ''}${local}`, uri, attributes)
    const parent = this.#open.at(-1)
    if (parent) {
      node.offset = parent.content.length
      parent.children.push(node)
    } else this.root = node
    this.#open.push(node)
  }

  text(text: string): void {
    const node = this.#open.at(-1)
    if (node) node.content += text
  }

  close(): void {
    this.#open.pop()
  }
}
