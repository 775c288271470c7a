/** A half-open range of UTF-16 code units. */
export interface Span {
  readonly start: number
  readonly end: number
}

/** A word, a number or one punctuation mark. */
export interface Token extends Span {
  readonly text: string
  readonly lower: string
  readonly shape: Shape
}

/** Spelling of a token; `iPhone` is a title, any punctuation or symbol a mark. */
type Shape = 'title' | 'upper' | 'lower' | 'number' | 'mark'

const DOTTED = '(?:\\p{Lu}\\.){2,12}'
/** Excludes a possessive `'s` from the word but keeps inner apostrophes. */
const WORD = "\\p{L}[\\p{L}\\p{M}\\p{N}\\u200d]*(?:['’](?!s(?!\\p{L}))\\p{L}[\\p{L}\\p{M}]*)?"
/** Linear: no repetition can match the same characters in two ways. */
const TOKEN = new RegExp(`${DOTTED}|${WORD}|\\p{N}+|[^\\s\\p{L}\\p{N}]`, 'gu')

/** Kinds of ASCII characters. */
const [MARK, BLANK, DIGIT, SMALL, CAPITAL, OTHER] = [0, 1, 2, 3, 4, 5] as const
const KINDS = Uint8Array.from({ length: 0x80 }, (_, code) => {
  const kinds = [/\s/, /\d/, /[a-z]/, /[A-Z]/]
  return 1 + kinds.findIndex((kind) => kind.test(String.fromCharCode(code)))
})
/** Kind of a character; `OTHER` outside ASCII or past the end. */
const kindAt = (text: string, at: number): number => KINDS[text.charCodeAt(at)] ?? OTHER
/** True if `next` continues a token of `kind`: words may contain digits, numbers no letters. */
const continuesToken = (kind: number, next: number): boolean =>
  next === DIGIT || (kind !== DIGIT && (next === SMALL || next === CAPITAL))

/** Adds `offset` to positions. ASCII is read by character codes: as `TOKEN`, but much faster. */
export const tokenize = (text: string, offset = 0): Token[] => {
  // Avoids allocating a growing array for single-character texts.
  if (text.length === 1 && text.trim() !== '') return [tokenOf(text, offset)]
  const tokens: Token[] = []
  for (let at = 0; at < text.length; ) {
    const kind = kindAt(text, at)
    if (kind === BLANK) {
      at += 1
      continue
    }
    const end = plainEnd(text, at, kind)
    if (end > at) {
      tokens.push(plainToken(text.slice(at, end), offset + at, kind))
      at = end
      continue
    }
    TOKEN.lastIndex = at
    const found = TOKEN.exec(text)
    if (found === null) break
    tokens.push(tokenOf(found[0], offset + found.index))
    at = TOKEN.lastIndex
  }
  return tokens
}

/** End of the token that starts at `at`, or `at` if `TOKEN` must decide. */
const plainEnd = (text: string, at: number, kind: number): number => {
  if (kind === OTHER) return at
  let end = at + 1
  if (kind === MARK) return end
  while (continuesToken(kind, kindAt(text, end))) end += 1
  const next = kindAt(text, end)
  if (next === OTHER && end < text.length) return at
  if (kind === DIGIT) return end
  const mark = text.charAt(end)
  const isDotted = mark === '.' && kind === CAPITAL && end === at + 1
  return isDotted || mark === "'" ? at : end
}

const plainToken = (word: string, start: number, kind: number): Token => {
  const end = start + word.length
  if (kind === MARK) return { text: word, lower: word, shape: 'mark', start, end }
  if (kind === DIGIT) return { text: word, lower: word, shape: 'number', start, end }
  const lower = word.toLowerCase()
  return { text: word, lower, shape: plainShape(word, lower, kind), start, end }
}

const plainShape = (word: string, lower: string, kind: number): Shape => {
  if (word === lower) return 'lower'
  if (kind === SMALL) return kindAt(word, 1) === CAPITAL ? 'title' : 'lower'
  return word.length > 1 && word === word.toUpperCase() ? 'upper' : 'title'
}

const tokenOf = (word: string, start: number): Token => {
  const lower = word.toLowerCase().replace('’', "'")
  return { text: word, lower, shape: shapeOf(word), start, end: start + word.length }
}

const shapeOf = (word: string): Shape => {
  if (/^\p{N}/u.test(word)) return 'number'
  if (!/^\p{L}/u.test(word)) return 'mark'
  if (/^\p{Ll}\p{Lu}/u.test(word)) return 'title'
  if (!/^[\p{Lu}\p{Lt}]/u.test(word)) return 'lower'
  return word.length > 1 && !/\p{Ll}/u.test(word) ? 'upper' : 'title'
}
