import type { Element, Page, Text, TreeNode, World } from './dom.ts'

/** Result of `flatten`. */
export interface FlattenedPage {
  /** Length in UTF-16 units; -1 if it exceeds the limit. */
  readonly length: number
  /** First slice of the text. */
  readonly start: string
  /** URL of the page. */
  readonly url: string
}

/**
 * Serializes a page as seen by a reader, as one tree, with shadow roots, slotted content and frames
 * of the allowed hosts inlined. Omits invisible content except metadata.
 *
 * Runs inside the page in an isolated world, so that scripts of the page cannot change the
 * functions it calls. Form fields still shadow properties by name, as in `<input name=firstChild>`,
 * so the tree is read by the getters of the prototypes.
 */
export class Flattener {
  readonly #limit: number
  readonly #hosts: readonly string[]
  readonly #parts: string[] = []
  #length = 0
  /** Nodes and end tags still to be written, the next one last; avoids deep recursion. */
  readonly #stack: (TreeNode | string)[] = []
  readonly #node: TreeNode
  readonly #element: Element

  constructor(limit: number, hosts: readonly string[]) {
    const { Node, Element } = globalThis as unknown as World
    this.#limit = limit
    this.#hosts = hosts
    this.#node = Node.prototype
    this.#element = Element.prototype
  }

  /** @returns undefined if the page exceeds the limit */
  write(page: Page): string | undefined {
    this.#append('<!DOCTYPE html>\n')
    this.#stack.push(...this.#children(page).filter((node) => this.#nodeType(node) === 1))
    for (let next = this.#stack.pop(); next !== undefined; next = this.#stack.pop()) {
      if (this.#length > this.#limit) return undefined
      if (typeof next === 'string') this.#append(next)
      else if (this.#nodeType(next) === 3) this.#append(this.#escape((next as Text).data))
      else if (this.#nodeType(next) === 1) this.#open(next as Element)
    }
    return this.#length > this.#limit ? undefined : this.#parts.join('')
  }

  #open(node: Element): void {
    const name = this.#elementProperty(node, 'localName').toLowerCase()
    if (/^i?frame$/.test(name)) return this.#frame(node)
    if (name === 'slot') {
      const given = node.assignedNodes?.() ?? []
      return this.#push(given.length > 0 ? given : this.#children(node), '')
    }
    if (name === 'script') return this.#script(node)
    if (this.#isDropped(node, name)) return
    const tag = name === 'frameset' ? 'div' : name
    this.#append(`<${tag}${this.#attributes(node)}>`)
    if (/^(?:area|base|br|col|hr|img|input|link|meta|source|track|wbr)$/.test(tag)) return
    this.#push(this.#children(this.#elementProperty(node, 'shadowRoot') ?? node), `</${tag}>`)
  }

  #isDropped(node: Element, name: string): boolean {
    return (
      /^(?:style|noscript|template|canvas|audio|video|object|embed)$/.test(name) ||
      this.#elementProperty(node, 'namespaceURI') === 'http://www.w3.org/2000/svg' ||
      !/^[a-z][\w.:-]*$/.test(name)
    )
  }

  /** Keeps JSON-LD metadata; drops other scripts. */
  #script(node: Element): void {
    const type = this.#element.getAttribute.call(node, 'type') ?? ''
    if (!/ld\+json/i.test(type)) return
    const text = this.#children(node).map((child) => (child as Text).data ?? '')
    this.#append(`<script${this.#attributes(node)}>`)
    this.#append(`${text.join('').replaceAll('</', '<\\/')}</script>`)
  }

  /** Inlines a frame unless its origin is not readable or its host is not allowed. */
  #frame(node: Element): void {
    const page = node.contentDocument
    const host = page?.location.hostname ?? '-'
    if (!page || (host !== '' && !this.#hosts.includes(host))) {
      return this.#append(`<iframe${this.#attributes(node)}></iframe>`)
    }
    this.#append(`<section data-frame="${this.#escapeAttribute(page.location.href)}">`)
    const [html] = this.#children(page).filter((child) => this.#nodeType(child) === 1)
    const body = html && this.#children(html).find((child) => this.#isBody(child))
    this.#push(body ? this.#children(body) : [], '</section>')
  }

  #isBody(node: TreeNode): boolean {
    return (
      this.#nodeType(node) === 1 &&
      /^(?:body|frameset)$/.test(this.#elementProperty(node as Element, 'localName'))
    )
  }

  #attributes(node: Element): string {
    return this.#element.getAttributeNames
      .call(node)
      .filter((name) => /^[a-z_][\w:.-]*$/i.test(name) && !/^on/i.test(name))
      .map((name) => [name, this.#element.getAttribute.call(node, name) ?? ''] as const)
      .filter(([, value]) => value.length <= 8_192) // longer ones are data URLs of images
      .map(([name, value]) => ` ${name}="${this.#escapeAttribute(value)}"`)
      .join('')
  }

  #children(node: TreeNode): TreeNode[] {
    const children = []
    for (
      let child = this.#nodeProperty(node, 'firstChild');
      child;
      child = this.#nodeProperty(child, 'nextSibling')
    ) {
      children.push(child)
    }
    return children
  }

  #nodeProperty<Name extends keyof TreeNode>(node: TreeNode, name: Name): TreeNode[Name] {
    return Reflect.get(this.#node, name, node)
  }

  #elementProperty<Name extends keyof Element>(node: Element, name: Name): Element[Name] {
    return Reflect.get(this.#element, name, node)
  }

  #nodeType(node: TreeNode): number {
    return this.#nodeProperty(node, 'nodeType')
  }

  #push(nodes: readonly TreeNode[], end: string): void {
    this.#stack.push(end)
    for (const node of nodes.toReversed()) this.#stack.push(node)
  }

  #append(text: string): void {
    this.#parts.push(text)
    this.#length += text.length
  }

  #escapeAttribute(text: string): string {
    return this.#escape(text).replaceAll('"', '&quot;')
  }

  #escape(text: string): string {
    return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
  }
}

/** Reads the page, and stores its text to be fetched in slices. */
export function flatten(
  limit: number,
  hosts: readonly string[],
  sliceLength: number,
): FlattenedPage {
  const world = globalThis as unknown as World
  const page = world.document
  const text = new Flattener(limit, hosts).write(page)
  world.hubText = text ?? ''
  const start = world.hubText.slice(0, sliceLength)
  return { length: text?.length ?? -1, start, url: page.location.href }
}

/** Returns a later slice of the text stored by `flatten`. */
export function slice(start: number, end: number): string {
  return (globalThis as unknown as World).hubText!.slice(start, end)
}
