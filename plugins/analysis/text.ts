/**
 * Text as the engine sees it: well-formed UTF-16 with sentence and token spans. Every pattern
 * here is linear: no repetition can match the same characters in two ways.
 */

/** A half-open range of UTF-16 code units. */
export interface Span {
  readonly start: number
  readonly end: number
}

/** A word, a number or one punctuation mark. */
export interface Token extends Span {
  readonly text: string
  readonly lower: string
  /** What the spelling tells; `iPhone` counts as title, any mark or symbol as mark. */
  readonly shape: 'title' | 'upper' | 'lower' | 'number' | 'mark'
}

export interface Sentence extends Span {
  readonly tokens: readonly Token[]
}

/** The units in which offsets can be told to the caller. */
export const OFFSET_UNITS = ['codepoint', 'utf16', 'utf8'] as const
export type OffsetUnit = (typeof OFFSET_UNITS)[number]

const DOTTED = '(?:\\p{Lu}\\.){2,12}'
/** A possessive `'s` is left out of the word, an inner apostrophe is not. */
const WORD = "\\p{L}[\\p{L}\\p{M}\\p{N}\\u200d]*(?:['’](?!s(?!\\p{L}))\\p{L}[\\p{L}\\p{M}]*)?"
const TOKEN = new RegExp(`${DOTTED}|${WORD}|\\p{N}+|[^\\s\\p{L}\\p{N}]`, 'gu')
const END = /[.!?…。！？]/
const CLOSING = /["'”’)\]»]/
const ABBREVIATIONS = new Set(
  (
    'mr mrs ms dr prof sen rep gov gen col lt sgt capt rev hon st jr sr vs etc inc ltd co corp ' +
    'dept univ assn bros no nos vol fig pp approx est jan feb mar apr jun jul aug sep sept ' +
    'oct nov dec mt ft cf al ave blvd rd e.g i.e'
  ).split(' '),
)

/** Tokens of `text`, in order; `offset` is added to every position. */
export const tokenize = (text: string, offset = 0): Token[] => {
  // A single character is a token; texts of nothing else would pay dearly for a search in each.
  if (text.length === 1 && text.trim() !== '') return [tokenOf(text, offset)]
  const tokens: Token[] = []
  TOKEN.lastIndex = 0
  for (let found = TOKEN.exec(text); found !== null; found = TOKEN.exec(text)) {
    tokens.push(tokenOf(found[0], offset + found.index))
  }
  return tokens
}

const tokenOf = (word: string, start: number): Token => {
  const end = start + word.length
  // Marks are most of a hostile text: nothing is searched in them.
  if (/^[!-/:-@[-`{-~]$/.test(word)) return { text: word, lower: word, shape: 'mark', start, end }
  const lower = word.toLowerCase().replace('’', "'")
  return { text: word, lower, shape: shapeOf(word), start, end }
}

const shapeOf = (word: string): Token['shape'] => {
  if (/^\p{N}/u.test(word)) return 'number'
  if (!/^\p{L}/u.test(word)) return 'mark'
  if (/^\p{Ll}\p{Lu}/u.test(word)) return 'title'
  if (!/^[\p{Lu}\p{Lt}]/u.test(word)) return 'lower'
  return word.length > 1 && !/\p{Ll}/u.test(word) ? 'upper' : 'title'
}

/** Sentences of `text` with their tokens; blank stretches belong to none. */
export const sentencesOf = (text: string): Sentence[] => {
  const sentences: Sentence[] = []
  const close = (from: number, to: number): void => {
    const raw = text.slice(from, to)
    const start = from + (raw.length - raw.trimStart().length)
    const body = raw.trim()
    if (body === '') return
    sentences.push({ start, end: start + body.length, tokens: tokenize(body, start) })
  }
  let start = 0
  for (const { index, 0: mark } of text.matchAll(/[.!?…。！？\n]/gu)) {
    if (index < start) continue
    const end = mark === '\n' ? lineEnd(text, index) : sentenceEnd(text, start, index)
    if (end === undefined) continue
    close(start, end)
    start = end
  }
  close(start, text.length)
  return sentences
}

/** A line break ends a sentence unless the next line goes on in lower case. */
const lineEnd = (text: string, at: number): number | undefined =>
  /^[^\S\n]{0,80}\p{Ll}/u.test(text.slice(at + 1, at + 100)) ? undefined : at + 1

const sentenceEnd = (text: string, start: number, at: number): number | undefined => {
  let end = at + 1
  while (end < text.length && end - at < 200 && END.test(text.charAt(end))) end += 1
  while (end < text.length && end - at < 200 && CLOSING.test(text.charAt(end))) end += 1
  if (text.charAt(at) > '\u2fff') return end
  if (end < text.length && !/\s/u.test(text.charAt(end))) return undefined
  if (text.charAt(at) === '.' && end === at + 1) {
    const word = /[\p{L}.]{0,12}$/u.exec(text.slice(Math.max(start, at - 12), at))?.[0] ?? ''
    const initial = /^(?:\p{L}\.){0,6}\p{Lu}$/u.test(word)
    if (initial || ABBREVIATIONS.has(word.toLowerCase())) {
      const next = /^\s{1,8}(\p{L}+)/u.exec(text.slice(end, end + 40))?.[1] ?? ''
      return STARTERS.has(next) && word.length > 1 ? end : undefined
    }
  }
  return /^\s{1,8}\p{Ll}/u.test(text.slice(end, end + 10)) && text.charAt(at) !== '!'
    ? undefined
    : end
}

/** Words that begin a sentence even after an abbreviation. */
const STARTERS = new Set(
  'The This That These Those It He She They We I In On At But And However A An If When'.split(' '),
)

/**
 * Replaces lone surrogates by U+FFFD, which has the same UTF-16 length: no offset moves.
 */
export const wellFormed = (text: string): string =>
  text.isWellFormed() ? text : text.toWellFormed()

/** A function that turns a UTF-16 index of `text` into the caller's unit. */
export const offsetsIn = (text: string, unit: OffsetUnit): ((index: number) => number) => {
  if (unit === 'utf16' || /^[\0-\x7f]*$/.test(text)) return (index) => index
  const table = new Uint32Array(text.length + 1)
  let offset = 0
  for (let index = 0; index < text.length; ) {
    const code = text.codePointAt(index) ?? 0
    const width = code > 0xff_ff ? 2 : 1
    table[index] = offset
    if (width === 2) table[index + 1] = offset
    offset += unit === 'utf8' ? utf8Length(code) : 1
    index += width
  }
  table[text.length] = offset
  return (index) => table[index] ?? offset
}

const utf8Length = (code: number): number =>
  code < 0x80 ? 1 : code < 0x8_00 ? 2 : code < 0x1_00_00 ? 3 : 4

/** A crude English stem: enough to bring `payments`, `payment` and `pay` close together. */
export const stem = (word: string): string => {
  const base = word.replace(/['’]s?$/u, '')
  if (base.length < 4) return base
  for (const [ending, put] of ENDINGS) {
    if (base.endsWith(ending) && base.length - ending.length >= 3) {
      const root = base.slice(0, -ending.length) + put
      return /([^aeiouls])\1$/u.test(root) ? root.slice(0, -1) : root
    }
  }
  return base
}

const ENDINGS: readonly (readonly [string, string])[] = [
  ['ically', 'ic'],
  ['ations', 'at'],
  ['ation', 'at'],
  ['nesses', ''],
  ['ness', ''],
  ['ments', ''],
  ['ment', ''],
  ['ings', ''],
  ['ing', ''],
  ['iest', 'i'],
  ['ies', 'i'],
  ['ied', 'i'],
  ['ers', ''],
  ['ally', 'al'],
  ['sses', 'ss'],
  ['ches', 'ch'],
  ['shes', 'sh'],
  ['xes', 'x'],
  ['ed', ''],
  ['er', ''],
  ['ly', ''],
  ['es', ''],
  ['ss', 'ss'],
  ['s', ''],
  ['y', 'i'],
  ['e', ''],
]
