const TEXT_MAX = 200
/** Words before a number, as in `Lot nr 3`, `Část č. 2` or `LOT-0001`. */
const LEADING = /^(?:\p{L}{2,12}[ -])?(?:\p{L}{1,3}[.°º]? ?|№ ?|# ?)?(?=\d)/u
/** `1 of 1`, `1/1`: the first one counts. */
const OF_TOTAL = /^(\d{1,4}) ?(?:\/|of|von|sur|z) ?(\d{1,4})$/i
const RANGE =
  /^(\d{1,4}) ?(?:[-–—]|to|bis|au|à|al|até|t\/m|tot|do|až|po|til|till|līdz|iki|έως) ?(\d{1,4})$/iu
const SEPARATORS = /[,;+&]| (?:and|und|et|y|e|i|ja|en|og|och|și|şi|si|in|ir|un|és|και|и) /iu
/** A number and the name of its lot: `1 - Name`, `2: Name`. */
const NAMED = /^(\d{1,4}[a-z]?)(?: ?[:.)]| [-–—]) ?(?=\p{L})/iu
/** A number with a letter, and anything after a dash: `1A - 2C South`. */
const LETTERED = /^(\d{1,4}[a-z])(?: ?[:.)]| [-–—]) /i
const SINGLE = /^(\d{1,4}(?:\.\d{1,3})?[a-z]?)[.)]?$/i
const RANGE_MAX = 500

/** Id of a lot in the form of eForms: `LOT-0003`, `LOT-001A`. */
const lotIdOf = (number: string): string => {
  const plain = /^\d+$/.test(number) ? String(Number(number)) : number.toUpperCase()
  return `LOT-${plain.padStart(4, '0')}`
}

/**
 * Reads the lots that a text names: `3`, `Lot 1 and 2`, `3-5`, `1/1`, `1 - Name`.
 * @returns their ids; undefined if the text may mean anything else
 */
export function lotsNamedIn(text: string): string[] | undefined {
  const plain = text.slice(0, TEXT_MAX).replaceAll(/\s/gu, ' ').replaceAll(/ {2,}/g, ' ').trim()
  const list = plain.split(SEPARATORS).map((part) => part.trim())
  const parts = list.filter((part) => part !== '').map((part) => partOf(part.replace(LEADING, '')))
  const known = parts.filter((part) => part !== undefined)
  if (known.length > 0 && known.length === parts.length) return [...new Set(known.flat())]
  const rest = plain.replace(LEADING, '')
  const named = (NAMED.exec(rest) ?? LETTERED.exec(rest))?.[1]
  return named === undefined ? undefined : [lotIdOf(named)]
}

function partOf(part: string): string[] | undefined {
  const single = SINGLE.exec(part)?.[1]
  if (single !== undefined) return [lotIdOf(single)]
  const [, first, total] = OF_TOTAL.exec(part) ?? []
  if (first !== undefined && Number(first) <= Number(total)) return [lotIdOf(first)]
  const [, from, to] = RANGE.exec(part) ?? []
  const count = Number(to) - Number(from) + 1
  if (from === undefined || count < 1 || count > RANGE_MAX) return undefined
  return Array.from({ length: count }, (_, at) => lotIdOf(String(Number(from) + at)))
}

/** Id of the one lot that an old form describes or awards; null for none or several. */
export function lotIdIn(text: string | undefined): string | null {
  if (text === undefined) return null
  const named = lotsNamedIn(text)
  if (named) return named.length === 1 ? (named[0] ?? null) : null
  return lotIdOf(text.slice(0, TEXT_MAX))
}
