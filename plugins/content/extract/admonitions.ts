import type { Element } from 'domhandler'

/** Names of boxes beside the text, as generators of documentation write them. */
const BOXES: ReadonlySet<string> = new Set(
  'admonition admonitionblock alert aside block callout notecard'.split(' '),
)
/** Types of admonitions as the alerts of GitHub Flavored Markdown. */
const ALERTS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    note: 'NOTE',
    info: 'NOTE',
    seealso: 'NOTE',
    tip: 'TIP',
    hint: 'TIP',
    important: 'IMPORTANT',
    warning: 'WARNING',
    attention: 'WARNING',
    caution: 'CAUTION',
    danger: 'CAUTION',
    error: 'CAUTION',
  }),
)

const wordsOf = (text: string): string[] => text.toLowerCase().split(/[^a-z]+/)

/** Returns the type of an admonition, such as `NOTE`; undefined for other elements. */
export function alertOf({ attribs }: Element): string | undefined {
  const names = wordsOf(attribs['class'] ?? '')
  if (!names.some((name) => BOXES.has(name))) return undefined
  return names.map((name) => ALERTS.get(name)).find((type) => type !== undefined)
}

/** Returns true for a title that only repeats the type of the admonition. */
export const isAlertTitle = (line: string): boolean =>
  ALERTS.has(wordsOf(line).join('')) && line.length < 20
