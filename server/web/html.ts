/** Text that was made safe to stand in a page. */
export class Html {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

export type Part = string | number | Html | undefined | null | false | readonly Part[]

/** Writes HTML; whatever is put in is text, unless it was written by this function itself. */
export const html = (strings: TemplateStringsArray, ...parts: readonly Part[]): Html =>
  new Html(strings.map((text, i) => text + render(parts[i])).join(''))

const render = (part: Part): string => {
  if (part === undefined || part === null || part === false) return ''
  if (part instanceof Html) return part.text
  if (typeof part === 'object') return part.map(render).join('')
  return escaped(String(part))
}

/** Text of others may hold signs that turn the reading direction, or none that can be seen. */
const UNSEEN = /[\p{Cc}\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]/gu

const escaped = (text: string): string =>
  text
    .replaceAll(UNSEEN, (char) => (char === '\n' || char === '\t' ? char : ''))
    .replaceAll(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`)
