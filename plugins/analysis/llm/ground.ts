import type { Span } from '../tokens.ts'

/** Finds where a text says what a model says that it says. */
export interface Finder {
  /**
   * Every place of `surface`, in order, as whole words: exactly, or where there is none, whatever
   * the case, the spaces and the form of quotes and dashes.
   */
  readonly all: (surface: string) => readonly Span[]
}

const PLACES_MAX = 2_000

/** A finder in the UTF-16 units of `text`, which is well formed. */
export const finderIn = (text: string): Finder => {
  const known = new Map<string, readonly Span[]>()
  let folded: Folded | undefined
  const search = (surface: string): readonly Span[] => {
    if (surface.trim() === '' || !surface.isWellFormed()) return []
    const exact = placesOf(text, surface)
    if (exact.length > 0) return exact
    folded ??= fold(text)
    const { starts, ends } = folded
    const needle = fold(surface).text.trim()
    if (needle === '') return []
    const loose = rangesOf(folded.text, needle).map(({ start, end }) => ({
      start: starts[start] ?? 0,
      end: ends[end - 1] ?? 0,
    }))
    return loose.filter((span) => isWhole(text, span)).slice(0, PLACES_MAX)
  }
  return {
    all(surface) {
      const places = known.get(surface) ?? search(surface)
      known.set(surface, places)
      return places
    },
  }
}

const placesOf = (text: string, surface: string): readonly Span[] =>
  rangesOf(text, surface)
    .filter((span) => isWhole(text, span))
    .slice(0, PLACES_MAX)

/** Places of `needle` that do not overlap. */
const rangesOf = (text: string, needle: string): readonly Span[] => {
  const found: Span[] = []
  for (let at = text.indexOf(needle); at >= 0; at = text.indexOf(needle, at + needle.length)) {
    found.push({ start: at, end: at + needle.length })
  }
  return found
}

/** Scripts that put spaces between words and nothing before or after them. */
const SPACED = /[\p{scx=Latin}\p{scx=Cyrillic}\p{scx=Greek}\p{N}]/u
/** Belongs to the character before it: between the two there is no place to end. */
const JOINED = /^(?:\p{M}|\p{Emoji_Modifier}|\u200d)/u

const isWhole = (text: string, { start, end }: Span): boolean => {
  if (end <= start) return false
  const after = charAt(text, end)
  const before = charBefore(text, start)
  if (JOINED.test(after) || before === '\u200d' || JOINED.test(charAt(text, start))) return false
  const splitsStart = SPACED.test(before) && SPACED.test(charAt(text, start))
  return !splitsStart && !(SPACED.test(after) && SPACED.test(charBefore(text, end)))
}

const charAt = (text: string, index: number): string => {
  const code = text.codePointAt(index)
  return code === undefined ? '' : String.fromCodePoint(code)
}

const charBefore = (text: string, index: number): string => {
  if (index < 1) return ''
  const isPair = index > 1 && /[\udc00-\udfff]/.test(text.charAt(index - 1))
  return text.slice(index - (isPair ? 2 : 1), index)
}

/** A text in its plainest form, with where each of its units begins and ends in the original. */
interface Folded {
  readonly text: string
  readonly starts: Uint32Array
  readonly ends: Uint32Array
}

const fold = (text: string): Folded => {
  const parts: string[] = []
  const starts: number[] = []
  const ends: number[] = []
  let isSpaced = true
  let start = 0
  for (const char of text) {
    const end = start + char.length
    const plain = plainOf(char)
    if (!(plain === ' ' && isSpaced)) {
      parts.push(plain)
      for (let unit = 0; unit < plain.length; unit += 1) {
        starts.push(start)
        ends.push(end)
      }
    }
    if (plain !== '') isSpaced = plain === ' '
    start = end
  }
  return { text: parts.join(''), starts: Uint32Array.from(starts), ends: Uint32Array.from(ends) }
}

const plainOf = (char: string): string => {
  if (char >= '!' && char <= '~') return char.toLowerCase()
  if (/[\s\u00a0\u202f]/u.test(char)) return ' '
  if (/[‘’‚‛′`´]/u.test(char)) return "'"
  if (/[“”„‟«»″]/u.test(char)) return '"'
  if (/\p{Pd}|\u2212/u.test(char)) return '-'
  // Soft hyphens, directions and joiners are not seen.
  if (/\p{Cf}/u.test(char)) return ''
  return char.normalize('NFKD').toLowerCase()
}
