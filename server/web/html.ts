/** Escaped HTML. */
export class Html {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

export type HtmlPart = string | number | Html | undefined | null | false | readonly HtmlPart[]

/** Builds HTML. Interpolated values are escaped unless they are `Html` themselves. */
export function html(strings: TemplateStringsArray, ...parts: readonly HtmlPart[]): Html {
  let text = strings[0]!
  for (let i = 0; i < parts.length; i++) text += render(parts[i]) + strings[i + 1]!
  return new Html(text)
}

function render(part: HtmlPart): string {
  if (part === undefined || part === null || part === false) return ''
  if (typeof part !== 'object') return escapeHtml(String(part))
  if (part instanceof Html) return part.text
  let text = ''
  for (const each of part) text += render(each)
  return text
}

/** Control characters, zero-width characters and marks that change the text direction. */
const INVISIBLE_CHARACTERS = /[\p{Cc}\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]/gu
/** Any character other than these is escaped or looked at: most values have none. */
const PLAIN = /^[\w !#$%()*+,./:;=?@[\\\]^`{|}~-]*$/

const escapeHtml = (text: string): string =>
  PLAIN.test(text)
    ? text
    : text
        .replaceAll(INVISIBLE_CHARACTERS, (char) => (char === '\n' || char === '\t' ? char : ''))
        .replaceAll(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`)
