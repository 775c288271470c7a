/** All patterns are linear: no repetition can match the same characters in two ways. */
import { type Span, type Token, tokenize } from './tokens.ts'

export interface Sentence extends Span {
  readonly tokens: readonly Token[]
}

/** Units for offsets in responses. */
export const OFFSET_UNITS = ['codepoint', 'utf16', 'utf8'] as const
export type OffsetUnit = (typeof OFFSET_UNITS)[number]

const END = new Set('.!?…。！？')
const LINE = '\n'.charCodeAt(0)
/** Character codes at which a sentence may end. */
const STOPS = new Uint8Array(0x1_00_00)
for (const stop of [...END, '\n']) STOPS[stop.charCodeAt(0)] = 1
const CLOSING = new Set(`"'”’)]»`)
const LONGEST_END = 200
const LONGEST_WORD = 12
const LETTER = /[\p{L}.]/u
const INITIAL = /^(?:\p{L}\.){0,6}\p{Lu}$/u
const NEXT_WORD = /\s{1,8}(\p{L}{1,40})/uy
const NEXT_SMALL = /\s{1,8}\p{Ll}/uy
const ABBREVIATIONS = new Set(
  (
    'mr mrs ms dr prof sen rep gov gen col lt sgt capt rev hon st jr sr vs etc inc ltd co corp ' +
    'dept univ assn bros no nos vol fig pp approx est jan feb mar apr jun jul aug sep sept ' +
    'oct nov dec mt ft cf al ave blvd rd e.g i.e'
  ).split(' '),
)

/** Splits `text` into sentences with their tokens; blank ranges belong to none. */
export const sentencesOf = (text: string): Sentence[] => {
  const sentences: Sentence[] = []
  const close = (from: number, to: number): void => {
    const body = text.slice(from, to).trimStart()
    const start = to - body.length
    const trimmed = body.trimEnd()
    if (trimmed === '') return
    sentences.push({ start, end: start + trimmed.length, tokens: tokenize(trimmed, start) })
  }
  let start = 0
  for (let at = 0; at < text.length; at += 1) {
    const mark = text.charCodeAt(at)
    if (STOPS[mark] === 0) continue
    const end = mark === LINE ? lineEnd(text, at) : sentenceEnd(text, start, at)
    if (end === undefined) continue
    close(start, end)
    start = end
    at = end - 1
  }
  close(start, text.length)
  return sentences
}

/** A line break ends a sentence unless the next line continues in lower case. */
const lineEnd = (text: string, at: number): number | undefined =>
  /^[^\S\n]{0,80}\p{Ll}/u.test(text.slice(at + 1, at + 100)) ? undefined : at + 1

const sentenceEnd = (text: string, start: number, at: number): number | undefined => {
  let end = at + 1
  const last = Math.min(text.length, at + LONGEST_END)
  while (end < last && END.has(text.charAt(end))) end += 1
  while (end < last && CLOSING.has(text.charAt(end))) end += 1
  if (text.charAt(at) > '\u2fff') return end
  if (text.charAt(end).trim() !== '') return undefined
  if (text.charAt(at) === '.' && end === at + 1) {
    const word = wordBefore(text, start, at)
    if (INITIAL.test(word) || ABBREVIATIONS.has(word.toLowerCase())) {
      NEXT_WORD.lastIndex = end
      const next = NEXT_WORD.exec(text)?.[1] ?? ''
      return STARTERS.has(next) && word.length > 1 ? end : undefined
    }
  }
  NEXT_SMALL.lastIndex = end
  return text.charAt(at) !== '!' && NEXT_SMALL.test(text) ? undefined : end
}

/** Letters and full stops just before `at`, twelve at most. */
const wordBefore = (text: string, start: number, at: number): string => {
  let from = at
  const first = Math.max(start, at - LONGEST_WORD)
  while (from > first && LETTER.test(text.charAt(from - 1))) from -= 1
  return text.slice(from, at)
}

/** Words that start a sentence even after an abbreviation. */
const STARTERS = new Set(
  'The This That These Those It He She They We I In On At But And However A An If When'.split(' '),
)

/** Replaces lone surrogates with U+FFFD, which has the same UTF-16 length, so no offset changes. */
export const wellFormed = (text: string): string =>
  text.isWellFormed() ? text : text.toWellFormed()

/** Creates a function that converts a UTF-16 index of `text` to the caller's unit. */
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

/** Simple English stemmer: brings `payments`, `payment` and `pay` close together. */
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
