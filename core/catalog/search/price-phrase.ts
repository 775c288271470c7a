import { type Micros, micros, usd } from '../../money.ts'

/** Query without its phrase about the price. */
export interface PricedQuery {
  readonly text: string
  /** Microdollars; undefined if the query names no maximum. */
  readonly maxPrice: Micros | undefined
}

const NUMBERS: Readonly<Record<string, number>> = {
  a: 1,
  an: 1,
  one: 1,
  two: 2,
  three: 3,
  four: 4,
  five: 5,
  six: 6,
  seven: 7,
  eight: 8,
  nine: 9,
  ten: 10,
  twenty: 20,
  thirty: 30,
  fifty: 50,
  hundred: 100,
}

const FRACTIONS: Readonly<Record<string, number>> = {
  half: 2,
  halves: 2,
  third: 3,
  quarter: 4,
  fifth: 5,
  tenth: 10,
  hundredth: 100,
  thousandth: 1_000,
}

const anyOf = (words: Readonly<Record<string, number>>): string => Object.keys(words).join('|')
const COIN = 'cents?|penny|pennies|dollars?|bucks?'
const FRACTION_PATTERN = new RegExp(
  `\\b(?:(${anyOf(NUMBERS)}|\\d{1,3}) )?(${anyOf(FRACTIONS)})s? (?:of )?an? (${COIN})\\b`,
  'gi',
)
const RATIO_PATTERN = new RegExp(`\\b(\\d{1,3})/(\\d{1,4}) (?:of an? )?(${COIN})\\b`, 'gi')
const NUMBER_PATTERN = new RegExp(`\\b(?:a )?(${anyOf(NUMBERS)}) (${COIN})\\b`, 'gi')

const AMOUNT =
  '(?:\\$ ?(\\d{1,6}(?:\\.\\d{1,6})?)|(\\d{1,6}(?:\\.\\d{1,6})?) ?(?:usdc?|dollars?)\\b' +
  '|(\\d{1,4}(?:\\.\\d{1,6})?) ?(?:cents?\\b|¢))(?: (?:per|a|each) (?:call|request))?'
const INTRODUCTION = '(?:\\b(?:for|costing|costs|priced) )?(?:\\bat )?'
const BEFORE = new RegExp(
  `${INTRODUCTION}\\b(?:under|below|within|less than|cheaper than|lower than|max(?:imum)?|` +
    `at (?:the )?most|up to|no(?:t)? (?:more|higher) than|not (?:over|above)) ${AMOUNT}`,
  'i',
)
const AFTER = new RegExp(
  `${INTRODUCTION}${AMOUNT} ` +
    '(?:or (?:less|cheaper|lower|under|below)|at (?:the )?most|max(?:imum)?|tops)\\b',
  'i',
)

/** Reads a maximum price in figures or words: `under $0.01`, `a tenth of a cent or less`. Pure. */
export function readPricePhrase(text: string): PricedQuery {
  const spelled = withDigits(text.replace(/\s+/g, ' '))
  const price = BEFORE.exec(spelled) ?? AFTER.exec(spelled)
  if (!price) return { text, maxPrice: undefined }
  const [phrase, dollars, usdc, cents] = price
  const maxPrice = cents === undefined ? usd((dollars ?? usdc)!) : micros(usd(cents) / 100n)
  return { text: spelled.replace(phrase, ' '), maxPrice }
}

/** Writes amounts in words with digits: `half a cent`, `3/10 of a cent`, `five dollars`. */
const withDigits = (text: string): string =>
  text
    .replace(FRACTION_PATTERN, (_, count: string | undefined, part: string, coin: string) =>
      amount(numberOf(count) / FRACTIONS[part.toLowerCase()]!, coin),
    )
    .replace(RATIO_PATTERN, (_, count: string, part: string, coin: string) =>
      amount(Number(count) / Math.max(Number(part), 1), coin),
    )
    .replace(NUMBER_PATTERN, (_, count: string, coin: string) => amount(numberOf(count), coin))

const numberOf = (count = 'one'): number => NUMBERS[count.toLowerCase()] ?? Number(count)

const amount = (value: number, coin: string): string =>
  `${Number(value.toFixed(6))} ${'db'.includes(coin.charAt(0).toLowerCase()) ? 'dollars' : 'cents'}`
