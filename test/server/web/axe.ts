import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import type { Page } from 'puppeteer-core'

const AXE = fileURLToPath(import.meta.resolve('axe-core/axe.min.js'))

/** Elements with the same markup that are checked among siblings, such as rows of a table. */
const SIMILAR_MAX = 2

/**
 * Removes all but a few of the siblings that have the same tags and classes, and all but one of the
 * operations in the API reference: axe would check each of them.
 */
const REMOVE_SIMILAR = `(() => {
  document.querySelectorAll('article ~ article').forEach((more) => more.remove())
  const classesOf = (element) => [...element.querySelectorAll('*')].reduce(
    (shape, { localName, className, type }) => shape + localName + '.' + className + type, '')
  const counts = new Map()
  for (const element of document.querySelectorAll('tr, li, option')) {
    const counted = counts.get(element.parentElement) ?? {}
    counts.set(element.parentElement, counted)
    const shape = element.className + '>' + classesOf(element)
    counted[shape] = (counted[shape] ?? 0) + 1
    if (counted[shape] > ${SIMILAR_MAX}) element.remove()
  }
})()`

/**
 * Selects the elements with text whose path of tags, classes and states no page of this tab had
 * before: the style sheet gives all others the same colors.
 */
const SELECT_NEW_STYLES = `(() => {
  const known = new Set(JSON.parse(sessionStorage.styles ?? '[]'))
  const pathOf = (element) => element === null ? '' : pathOf(element.parentElement) + '/' + [
    element.localName, element.className, element.type, element.ariaCurrent, element.disabled]
  globalThis.newStyles = [...document.querySelectorAll('body, body *')].filter((element) => {
    const hasText = [...element.childNodes].some((each) => each.nodeType === 3 && each.data.trim())
    const path = pathOf(element)
    if (known.has(path) || !(hasText || element.matches('input, select, textarea'))) return false
    known.add(path)
    return true
  })
  sessionStorage.styles = JSON.stringify([...known])
})()`

/** Options of all runs: only violations are needed, and pages load no style sheets but one. */
const FAST = `resultTypes: ['violations'], reporter: 'no-passes', preload: false`

/** Runs of axe. */
const RUNS = {
  /** All rules, but for those of the other runs. */
  structure: `axe.run({ ${FAST}, rules: { 'color-contrast': { enabled: false } } })`,
  /** Targets are at least 24 px large or apart (WCAG 2.2, 2.5.8). */
  targets: `axe.run({ ${FAST}, runOnly: ['target-size'] })`,
  /** Contrast of styles that are new in this tab. */
  contrast: `newStyles.length === 0 ? { violations: [] }
    : axe.run({ include: newStyles }, { ${FAST}, runOnly: ['color-contrast'] })`,
} as const

interface Violation {
  readonly id: string
  readonly nodes: readonly { readonly html: string }[]
}

/** Injects axe into a page, and removes what need not be checked. */
export async function injectAxe(page: Page): Promise<void> {
  await page.evaluate(await readFile(AXE, 'utf8'))
  await page.evaluate(REMOVE_SIMILAR)
  await page.evaluate(SELECT_NEW_STYLES)
}

/** Returns the violations that a run of axe finds on a page with its current media and width. */
export async function violations(page: Page, run: keyof typeof RUNS): Promise<readonly string[]> {
  const found = (await page.evaluate(RUNS[run])) as { violations: Violation[] }
  return found.violations.flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.html}`))
}
