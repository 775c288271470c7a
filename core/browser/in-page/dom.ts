/** Types of the parts of the DOM used inside a page. */

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
  /** Null if there is none or it is closed. */
  readonly shadowRoot: TreeNode | null
  /** Frames of the same origin only. */
  readonly contentDocument?: Page | null
  getAttributeNames(): string[]
  getAttribute(name: string): string | null
  /** Slots only. */
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

/** Globals of the isolated world, with the state of the functions in this folder. */
export interface World {
  readonly document: Page
  readonly innerHeight: number
  readonly MutationObserver: new (changed: () => void) => Observer
  readonly Node: { readonly prototype: TreeNode }
  readonly Element: { readonly prototype: Element }
  scrollTo(where: { readonly top: number; readonly behavior: 'instant' }): void
  requestAnimationFrame(next: () => void): void
  /** Text of the page, as last read by `flatten`. */
  hubText?: string
  /** Time and height of the page's last change. */
  hubChange?: { at: number; height: number }
}
