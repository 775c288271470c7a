import type { Element, Page, Text, TreeNode, World } from './dom.ts'

/** What `flatten` has read. */
export interface Flat {
  /** In UTF-16 units; -1: longer than may be. */
  readonly length: number
  /** The first slice of it. */
  readonly start: string
  /** Where the page is. */
  readonly url: string
}

/**
 * Writes a page down as its reader sees it, as one tree: shadow roots with what is slotted into
 * them, and frames of the page's own hosts. Left out is what no reader sees, metadata apart.
 *
 * It runs inside the page, in a world of its own, so that the page's scripts can change nothing
 * that it calls. A form's fields still shadow its properties by their names, as in
 * `<input name=firstChild>`, so the tree is read by the getters of the prototypes.
 */
export class Flattener {
  readonly #limit: number
  readonly #hosts: readonly string[]
  readonly #parts: string[] = []
  #length = 0
  /** What is still to be written, the next one last: nesting may be deeper than any stack. */
  readonly #ahead: (TreeNode | string)[] = []
  readonly #node: TreeNode
  readonly #element: Element

  constructor(limit: number, hosts: readonly string[]) {
    const { Node, Element } = globalThis as unknown as World
    this.#limit = limit
    this.#hosts = hosts
    this.#node = Node.prototype
    this.#element = Element.prototype
  }

  /** @returns undefined for a page that is longer than may be */
  write(page: Page): string | undefined {
    this.#say('<!DOCTYPE html>\n')
    this.#ahead.push(...this.#children(page).filter((node) => this.#kind(node) === 1))
    for (let next = this.#ahead.pop(); next !== undefined; next = this.#ahead.pop()) {
      if (this.#length > this.#limit) return undefined
      if (typeof next === 'string') this.#say(next)
      else if (this.#kind(next) === 3) this.#say(this.#escape((next as Text).data))
      else if (this.#kind(next) === 1) this.#open(next as Element)
    }
    return this.#length > this.#limit ? undefined : this.#parts.join('')
  }

  #open(node: Element): void {
    const name = this.#of(node, 'localName').toLowerCase()
    if (/^i?frame$/.test(name)) return this.#frame(node)
    if (name === 'slot') {
      const given = node.assignedNodes?.() ?? []
      return this.#later(given.length > 0 ? given : this.#children(node), '')
    }
    if (name === 'script') return this.#script(node)
    if (this.#isDropped(node, name)) return
    const tag = name === 'frameset' ? 'div' : name
    this.#say(`<${tag}${this.#attributes(node)}>`)
    if (/^(?:area|base|br|col|hr|img|input|link|meta|source|track|wbr)$/.test(tag)) return
    this.#later(this.#children(this.#of(node, 'shadowRoot') ?? node), `</${tag}>`)
  }

  #isDropped(node: Element, name: string): boolean {
    return (
      /^(?:style|noscript|template|canvas|audio|video|object|embed)$/.test(name) ||
      this.#of(node, 'namespaceURI') === 'http://www.w3.org/2000/svg' ||
      !/^[a-z][\w.:-]*$/.test(name)
    )
  }

  /** Metadata for machines (JSON-LD) stays. */
  #script(node: Element): void {
    const type = this.#element.getAttribute.call(node, 'type') ?? ''
    if (!/ld\+json/i.test(type)) return
    const text = this.#children(node).map((child) => (child as Text).data ?? '')
    this.#say(`<script${this.#attributes(node)}>`)
    this.#say(`${text.join('').replaceAll('</', '<\\/')}</script>`)
  }

  /** A frame of another origin can not be read, and of a stranger's host is not the owner's. */
  #frame(node: Element): void {
    const page = node.contentDocument
    const host = page?.location.hostname ?? '-'
    if (!page || (host !== '' && !this.#hosts.includes(host))) {
      return this.#say(`<iframe${this.#attributes(node)}></iframe>`)
    }
    this.#say(`<section data-frame="${this.#quote(page.location.href)}">`)
    const [html] = this.#children(page).filter((child) => this.#kind(child) === 1)
    const body = html && this.#children(html).find((child) => this.#isBody(child))
    this.#later(body ? this.#children(body) : [], '</section>')
  }

  #isBody(node: TreeNode): boolean {
    return (
      this.#kind(node) === 1 && /^(?:body|frameset)$/.test(this.#of(node as Element, 'localName'))
    )
  }

  #attributes(node: Element): string {
    return this.#element.getAttributeNames
      .call(node)
      .filter((name) => /^[a-z_][\w:.-]*$/i.test(name) && !/^on/i.test(name))
      .map((name) => [name, this.#element.getAttribute.call(node, name) ?? ''] as const)
      .filter(([, value]) => value.length <= 8_192) // longer ones are pictures as data
      .map(([name, value]) => ` ${name}="${this.#quote(value)}"`)
      .join('')
  }

  #children(node: TreeNode): TreeNode[] {
    const children = []
    for (let child = this.#in(node, 'firstChild'); child; child = this.#in(child, 'nextSibling')) {
      children.push(child)
    }
    return children
  }

  #in<Name extends keyof TreeNode>(node: TreeNode, name: Name): TreeNode[Name] {
    return Reflect.get(this.#node, name, node)
  }

  #of<Name extends keyof Element>(node: Element, name: Name): Element[Name] {
    return Reflect.get(this.#element, name, node)
  }

  #kind(node: TreeNode): number {
    return this.#in(node, 'nodeType')
  }

  #later(nodes: readonly TreeNode[], end: string): void {
    this.#ahead.push(end)
    for (const node of nodes.toReversed()) this.#ahead.push(node)
  }

  #say(text: string): void {
    this.#parts.push(text)
    this.#length += text.length
  }

  #quote(text: string): string {
    return this.#escape(text).replaceAll('"', '&quot;')
  }

  #escape(text: string): string {
    return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
  }
}

/** Reads the page, and keeps its text to be fetched in slices. */
export function flatten(limit: number, hosts: readonly string[], sliceLength: number): Flat {
  const world = globalThis as unknown as World
  const page = world.document
  const text = new Flattener(limit, hosts).write(page)
  world.hubText = text ?? ''
  const start = world.hubText.slice(0, sliceLength)
  return { length: text?.length ?? -1, start, url: page.location.href }
}

/** A later slice of what `flatten` has read. */
export function slice(start: number, end: number): string {
  return (globalThis as unknown as World).hubText!.slice(start, end)
}
