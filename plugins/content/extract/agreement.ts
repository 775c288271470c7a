import { type Element, isTag, type ParentNode } from 'domhandler'
import { type Measures, measure, measureOf } from './measure.ts'
import { textOf } from './text.ts'
import { wordsIn } from './words.ts'

const PARAGRAPHS: ReadonlySet<string> = new Set(['p', 'pre', 'blockquote', 'li', 'td'])
const SURROUNDINGS: ReadonlySet<string> = new Set(['nav', 'aside', 'footer', 'form'])
/** Number of ancestors that a paragraph counts for, each half as much as the one below. */
const ANCESTORS = 3

/**
 * Returns the text that a simple second reading finds: the element with most prose in paragraphs.
 * Call it before surroundings are removed.
 */
export function secondReading(root: ParentNode): string {
  const scores = new Map<ParentNode, number>()
  score(root, measure(root), scores)
  const [best] = [...scores].reduce((most, each) => (each[1] > most[1] ? each : most), [
    root,
    0,
  ] as const)
  return textOf(best)
}

function score(node: ParentNode, measures: Measures, scores: Map<ParentNode, number>): void {
  for (const child of node.children) {
    if (!isTag(child) || SURROUNDINGS.has(child.name)) continue
    if (PARAGRAPHS.has(child.name)) addToAncestors(child, measureOf(measures, child).prose, scores)
    score(child, measures, scores)
  }
}

function addToAncestors(from: Element, prose: number, scores: Map<ParentNode, number>): void {
  let node = from.parent
  for (let level = 0; level < ANCESTORS && node !== null; level++, node = node.parent) {
    scores.set(node, (scores.get(node) ?? 0) + prose / 2 ** level)
  }
}

/** Returns the words that two texts share, from 0 for none to 1 for all (F1), two decimals. */
export function agreementOf(one: string, other: string): number {
  const left = new Map<string, number>()
  const words = wordsIn(one)
  for (const word of words) left.set(word, (left.get(word) ?? 0) + 1)
  const others = wordsIn(other)
  let shared = 0
  for (const word of others) {
    const count = left.get(word) ?? 0
    if (count === 0) continue
    shared++
    left.set(word, count - 1)
  }
  const all = words.length + others.length
  return all === 0 ? 0 : Math.round((200 * shared) / all) / 100
}
