/** Escaped HTML. */
export class Html {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

export type HtmlPart = string | number | Html | undefined | null | false | readonly HtmlPart[]

/** Builds HTML. Interpolated values are escaped unless they are `Html` themselves. */
export const html = (strings: TemplateStringsArray, ...parts: readonly HtmlPart[]): Html =>
  new Html(strings.map((text, i) => text + render(parts[i])).join(''))

const render = (part: HtmlPart): string => {
  if (part === undefined || part === null || part === false) return ''
  if (part instanceof Html) return part.text
  if (typeof part === 'object') return part.map(render).join('')
  return escapeHtml(String(part))
}

/** Control characters, zero-width characters and marks that change the text direction. */
const INVISIBLE_CHARACTERS = /[\p{Cc}\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]/gu

const escapeHtml = (text: string): string =>
  text
    .replaceAll(INVISIBLE_CHARACTERS, (char) => (char === '\n' || char === '\t' ? char : ''))
    .replaceAll(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`)
