/** Patterns for written numbers: fragments for `RegExp` with the flags `iu`. */

const SMALL =
  'one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen ' +
  'sixteen seventeen eighteen nineteen'
const TENS = 'twenty thirty forty fifty sixty seventy eighty ninety'
const SCALES: Readonly<Record<string, number>> = {
  hundred: 100,
  thousand: 1e3,
  million: 1e6,
  billion: 1e9,
  trillion: 1e12,
  dozen: 12,
  mln: 1e6,
  mn: 1e6,
  m: 1e6,
  bn: 1e9,
  b: 1e9,
  tn: 1e12,
  trn: 1e12,
  k: 1e3,
}
const VALUES = new Map<string, number>([
  ...SMALL.split(' ').map((word, index) => [word, index + 1] as const),
  ...TENS.split(' ').map((word, index) => [word, 20 + index * 10] as const),
  ['a', 1],
  ['an', 1],
  ['half', 0.5],
  ['couple', 2],
])

/** Digits with or without separators: `1,234.5`, `1.234.567,89`, `4'500`, `0.5`. */
export const DIGITS =
  "(?:\\d{1,3}(?:[,.'’\\u00a0\\u202f]\\d{3}){1,5}(?:[.,]\\d{1,4})?(?!\\d)" +
  '|\\d{1,15}(?:[.,]\\d{1,6})?)'

const UNIT_WORD = `(?:${[...SMALL.split(' '), ...TENS.split(' ')].join('|')})`
const ANY_WORD = `(?:${UNIT_WORD}|hundred|thousand|million|billion|trillion|dozen)`
/** Number words, nine at most: `two hundred and five`, `a dozen`. */
export const NUMBER_WORDS =
  `(?:(?:an?|half a|a couple of) (?:hundred|thousand|million|billion|trillion|dozen)` +
  `|${UNIT_WORD}(?:(?:[ -]|[ -]and[ -])${ANY_WORD}){0,8})`

/** Lookbehind: not the tail of a longer word or number. */
export const LEFT = "(?<![\\p{L}\\p{N}_]|\\d[.,'’/:])"

/** Value of a match of `DIGITS` or `NUMBER_WORDS`, multiplied by its scale; NaN if invalid. */
export const numberOf = (written: string, scale = ''): number => {
  const factor = scale === '' ? 1 : (SCALES[scale.toLowerCase().replace(/s$/, '')] ?? 1)
  const value = /^\d/.test(written) ? digitsValue(written) : wordsValue(written)
  return Number((value * factor).toPrecision(15))
}

const digitsValue = (written: string): number => {
  const plain = written.replace(/['’\u00a0\u202f]/g, '')
  const last = Math.max(plain.lastIndexOf('.'), plain.lastIndexOf(','))
  if (last < 0) return Number(plain)
  const mark = plain.charAt(last)
  const repeated = plain.indexOf(mark) < last
  const mixed = plain.includes(mark === '.' ? ',' : '.')
  const groups = repeated || (mark === ',' && !mixed && plain.length - last === 4)
  const whole = (groups ? plain : plain.slice(0, last)).replace(/[.,]/g, '')
  return Number(groups ? whole : `${whole}.${plain.slice(last + 1)}`)
}

const wordsValue = (written: string): number => {
  let total = 0
  let current = 0
  for (const word of written.toLowerCase().split(/[ -]/)) {
    const scale = SCALES[word]
    const value = VALUES.get(word)
    if (word === 'half') current = 0.5
    else if (scale !== undefined && scale <= 100) current = (current || 1) * scale
    else if (scale !== undefined) {
      total += (current || 1) * scale
      current = 0
    } else if (value !== undefined && !(current === 0.5 && value === 1)) current += value
  }
  return total + current
}
