/** As much of the DOM as is used inside a page. */

export interface TreeNode {
  readonly nodeType: number
  readonly firstChild: TreeNode | null
  readonly nextSibling: TreeNode | null
}

export interface Text extends TreeNode {
  readonly data: string
}

export interface Element extends TreeNode {
  readonly localName: string
  readonly namespaceURI: string | null
  /** Undefined where it is closed. */
  readonly shadowRoot: TreeNode | null
  /** Of a frame whose origin is that of the page. */
  readonly contentDocument?: Page | null
  getAttributeNames(): string[]
  getAttribute(name: string): string | null
  /** Of a slot. */
  assignedNodes?(): TreeNode[]
}

export interface Page extends TreeNode {
  readonly readyState: 'loading' | 'interactive' | 'complete'
  readonly scrollingElement: { readonly scrollHeight: number; readonly scrollTop: number } | null
  readonly location: { readonly href: string; readonly hostname: string }
  querySelector(selector: string): object | null
}

interface Observer {
  observe(page: Page, what: Readonly<Record<string, boolean>>): void
}

/** The globals of a page, and what our functions keep there. */
export interface World {
  readonly document: Page
  readonly innerHeight: number
  readonly MutationObserver: new (changed: () => void) => Observer
  readonly Node: { readonly prototype: TreeNode }
  readonly Element: { readonly prototype: Element }
  scrollTo(where: { readonly top: number; readonly behavior: 'instant' }): void
  requestAnimationFrame(next: () => void): void
  /** The page as it was read last. */
  hubText?: string
  /** When the page last changed. */
  hubChange?: { at: number; height: number }
}
