import { type ChildNode, type Element, isTag, isText, type ParentNode } from 'domhandler'
import { removeAround } from './clean.ts'
import { isHeading } from './elements.ts'
import type { Kind } from './kind.ts'
import { isWhole } from './layout.ts'
import { collapseSpaces, isLeaf, type Measures, measureOf } from './measure.ts'
import { isAboutHeading, isAroundProductHeading, isElsewhereHeading } from './phrases.ts'
import { textOf } from './text.ts'

/** Maximum share of the prose in a section that leads elsewhere. */
const PROSE_SHARE = 0.25

/** Finds the headings that open elements, the lengths of texts and the prose, by the measures. */
class Sections {
  readonly #measures: Measures
  readonly #empty = new Map<ChildNode, boolean>()

  constructor(measures: Measures) {
    this.#measures = measures
  }

  /** Returns true if a node contains no text. Cached, because it is requested at each depth. */
  #isEmpty(node: ChildNode): boolean {
    let isEmpty = this.#empty.get(node)
    if (isEmpty === undefined) {
      isEmpty = isText(node)
        ? node.data.trim() === ''
        : !isTag(node) || node.children.every((child) => this.#isEmpty(child))
      this.#empty.set(node, isEmpty)
    }
    return isEmpty
  }

  proseOf(node: ChildNode): number {
    return isTag(node) ? measureOf(this.#measures, node).prose : 0
  }

  /** Returns the first heading of an element if no text stands before it. */
  heading(node: ParentNode): Element | undefined {
    if (isHeading(node)) return node
    const first = node.children.find((child) => !this.#isEmpty(child))
    return first && isTag(first) ? this.heading(first) : undefined
  }

  /**
   * Returns the index after the section that opens at `at`: the next heading of its level, or the
   * next prose unless the section ends the text.
   */
  endOf(siblings: readonly ChildNode[], at: number, level: string, holdsProse: boolean): number {
    let firstProse: number | undefined
    let end = at + 1
    for (; end < siblings.length; end++) {
      const node = siblings[end]!
      const heading = isTag(node) ? this.heading(node) : undefined
      if (heading !== undefined && heading.name <= level) break
      if (isTag(node) ? this.proseOf(node) > 0 : !this.#isEmpty(node)) firstProse ??= end
    }
    return holdsProse || end === siblings.length ? end : (firstProse ?? end)
  }
}

/** Removes sections whose heading says that they lead elsewhere or are about the author. */
export function removeSections(root: ParentNode, measures: Measures, kind: Kind): void {
  const isElsewhere = (words: string): boolean =>
    isElsewhereHeading(words) || (kind === 'product' && isAroundProductHeading(words))
  const most = PROSE_SHARE * (measures.get(root)?.prose ?? 0)
  const sections = new Sections(measures)
  const walk = (node: ParentNode): void => {
    const removed = new Set<ChildNode>()
    node.children.forEach((child, at) => {
      if (!isTag(child) || isWhole(child) || removed.has(child)) return
      const heading = sections.heading(child)
      const words = heading && collapseSpaces(textOf(heading))
      const isAbout = words !== undefined && isAboutHeading(words)
      if (heading === undefined || !(isAbout || isElsewhere(words!))) return walk(child)
      const isWrapper = measureOf(measures, child).text > measureOf(measures, heading).text
      const end = isWrapper ? at + 1 : sections.endOf(node.children, at, heading.name, isAbout)
      const section = node.children.slice(at, end)
      if (section.reduce((sum, each) => sum + sections.proseOf(each), 0) > most) return walk(child)
      for (const each of section) removed.add(each)
    })
    node.children = node.children.filter((child) => !removed.has(child))
  }
  walk(root)
}

/** Continues a sentence that begins with somebody's name. */
const ABOUT_PERSON =
  /^,? (?:is|was|has|writes|covers|works|leads|founded|started|brings|joined|specializes)\b/

/** Removes paragraphs that say who the author is. */
export function removeBios(root: ParentNode, byline: string | null): void {
  const names = (byline ?? '').split(/, | and | & /).filter((name) => /\S \S/.test(name))
  const isBio = (text: string): boolean =>
    names.some((name) => text.startsWith(name) && ABOUT_PERSON.test(text.slice(name.length)))
  if (names.length > 0) {
    removeAround(root, (node) => isTag(node) && isLeaf(node) && isBio(collapseSpaces(textOf(node))))
  }
}
