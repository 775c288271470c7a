import { type AnyNode, type Element, hasChildren, isTag, isText, type ParentNode } from 'domhandler'

/** Character counts below an element, with white space collapsed. */
export interface Measure {
  /** All text. */
  readonly text: number
  /** Text within links. */
  readonly linked: number
  /** Prose: blocks that are long enough, end like sentences and are not mostly links. */
  readonly prose: number
}

export type Measures = ReadonlyMap<ParentNode, Measure>

const NOTHING: Measure = { text: 0, linked: 0, prose: 0 }

/** Inline elements; all others start a block. */
export const INLINE: ReadonlySet<string> = new Set(
  `a abbr acronym b bdi bdo big br cite code data del dfn em font i img ins kbd label mark math
  nobr q rb rp rt ruby s samp small span strike strong sub sup time tt u var wbr`.split(/\s+/),
)

/** Returns true for a block without nested blocks. */
export const isLeaf = (element: Element): boolean =>
  !INLINE.has(element.name) &&
  element.children.every((child) => !isTag(child) || INLINE.has(child.name))

/** Minimum unlinked characters of a block of prose. */
const PROSE_MIN = 60
const SENTENCE = /[.!?…。！？؟।:;,،、][\s"'”’»)\]]|[.!?…。！？؟।]["'”’»)\]]*$/u
const CJK = /[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]/

/** A run of text between two block boundaries. */
interface Run {
  text: string
  linked: number
}

export const collapseSpaces = (text: string): string => text.replace(/\s+/g, ' ').trim()

function proseOf({ text, linked }: Run): number {
  const plain = text.length - linked
  if (linked * 2 > text.length) return 0
  const enough = CJK.test(text) ? PROSE_MIN / 3 : PROSE_MIN
  return plain >= enough && SENTENCE.test(text) ? plain : 0
}

/** Measures every element below `root` in one walk. With `countsAll`, all text counts as prose. */
export function measure(root: ParentNode, { countsAll = false } = {}): Measures {
  const measures = new Map<ParentNode, Measure>()
  let run: Run = { text: '', linked: 0 }
  const open: { text: number; linked: number; prose: number }[] = []

  const close = (): void => {
    const text = collapseSpaces(run.text)
    if (text !== '') {
      const top = open.at(-1)!
      top.text += text.length
      const linked = Math.min(run.linked, text.length)
      top.linked += linked
      top.prose += countsAll ? text.length : proseOf({ text, linked })
    }
    run = { text: '', linked: 0 }
  }

  const walk = (node: AnyNode, inLink: boolean): void => {
    if (isText(node)) {
      run.text += node.data
      if (inLink) run.linked += collapseSpaces(node.data).length
      return
    }
    if (!hasChildren(node)) return
    const link = inLink || (isTag(node) && node.name === 'a')
    if (isTag(node) && INLINE.has(node.name) && node.name !== 'br') {
      for (const child of node.children) walk(child, link)
      return
    }
    close()
    open.push({ ...NOTHING })
    for (const child of node.children) walk(child, link)
    close()
    const own = open.pop()!
    measures.set(node, own)
    const parent = open.at(-1)
    if (parent) {
      parent.text += own.text
      parent.linked += own.linked
      parent.prose += own.prose
    }
  }
  walk(root, false)
  return measures
}

export const measureOf = (measures: Measures, element: Element): Measure =>
  measures.get(element) ?? NOTHING
