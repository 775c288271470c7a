import type { Span } from '../tokens.ts'

/** Locates quotes of a model in the text. */
export interface SpanFinder {
  /** Whole words, in order: exact, otherwise regardless of case, spacing, quotes and dashes. */
  readonly all: (surface: string) => readonly Span[]
}

const PLACES_MAX = 2_000

/** Creates a finder that returns spans in UTF-16 units of `text`, which must be well formed. */
export const spanFinder = (text: string): SpanFinder => {
  const cache = new Map<string, readonly Span[]>()
  let folded: NormalizedText | undefined
  const search = (surface: string): readonly Span[] => {
    if (surface.trim() === '' || !surface.isWellFormed()) return []
    const exact = placesOf(text, surface)
    if (exact.length > 0) return exact
    folded ??= normalize(text)
    const { starts, ends } = folded
    const needle = normalize(surface).text.trim()
    if (needle === '') return []
    const loose = rangesOf(folded.text, needle).map(({ start, end }) => ({
      start: starts[start] ?? 0,
      end: ends[end - 1] ?? 0,
    }))
    return loose.filter((span) => isWhole(text, span)).slice(0, PLACES_MAX)
  }
  return {
    all(surface) {
      const places = cache.get(surface) ?? search(surface)
      cache.set(surface, places)
      return places
    },
  }
}

const placesOf = (text: string, surface: string): readonly Span[] =>
  rangesOf(text, surface)
    .filter((span) => isWhole(text, span))
    .slice(0, PLACES_MAX)

/** Occurrences of `needle` without overlaps. */
const rangesOf = (text: string, needle: string): readonly Span[] => {
  const found: Span[] = []
  for (let at = text.indexOf(needle); at >= 0; at = text.indexOf(needle, at + needle.length)) {
    found.push({ start: at, end: at + needle.length })
  }
  return found
}

/** Scripts that separate words by spaces. */
const SPACED_SCRIPT = /[\p{scx=Latin}\p{scx=Cyrillic}\p{scx=Greek}\p{N}]/u
/** Characters that combine with the preceding one; a span cannot start or end between them. */
const COMBINING = /^(?:\p{M}|\p{Emoji_Modifier}|\u200d)/u

const isWhole = (text: string, { start, end }: Span): boolean => {
  if (end <= start) return false
  const after = charAt(text, end)
  const before = charBefore(text, start)
  if (COMBINING.test(after) || before === '\u200d' || COMBINING.test(charAt(text, start)))
    return false
  const splitsStart = SPACED_SCRIPT.test(before) && SPACED_SCRIPT.test(charAt(text, start))
  return !splitsStart && !(SPACED_SCRIPT.test(after) && SPACED_SCRIPT.test(charBefore(text, end)))
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

/** A normalized text with the original start and end of each of its units. */
interface NormalizedText {
  readonly text: string
  readonly starts: Uint32Array
  readonly ends: Uint32Array
}

const normalize = (text: string): NormalizedText => {
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
  // Soft hyphens, direction marks and joiners are invisible.
  if (/\p{Cf}/u.test(char)) return ''
  return char.normalize('NFKD').toLowerCase()
}
