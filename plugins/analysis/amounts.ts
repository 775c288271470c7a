import units from './data/units.json' with { type: 'json' }
import { DIGITS, LEFT, NUMBER_WORDS, numberOf } from './numbers.ts'
import type { Span } from './tokens.ts'

/** A normalized amount; `upper` is the other end of a range. */
export interface AmountValue {
  readonly number: number
  readonly upper?: number
  /** ISO 4217 code or cryptocurrency ticker, if the text states one. */
  readonly currency?: string
  readonly unit?: string
}

export interface Amount extends Span {
  readonly subtype: 'money' | 'percent' | 'quantity' | 'number'
  readonly value: AmountValue
}

const CURRENCIES = new Map(Object.entries(units.currencies))
const UNITS = new Map(Object.entries(units.units))
const CODE =
  '(?:USDC?|EUR|GBP|JPY|CHF|CNY|RMB|INR|AUD|CAD|NZD|SEK|NOK|DKK|PLN|CZK|HUF|RON|BGN|RUB|BRL|MXN' +
  '|ZAR|TRY|KRW|SGD|HKD|ILS|AED|SAR|BTC|ETH)'
const NAME =
  '(?:(?:US|U\\.S\\.|American|Canadian|Australian|New Zealand|Hong Kong|British|Swiss) ' +
  '(?:dollars?|pounds?|francs?)|dollars?|euros?|pounds?(?: sterling)?|yen|yuan|rupees?' +
  '|r[ou]u?bles?|francs?|pesos?|zlotys?|kron[ae]r?|bucks?|cents?|pence)'
const UNIT = [...UNITS.keys()].sort((a, b) => b.length - a.length).join('|')
const SCALE = 'hundred|thousand|million|billion|trillion'

/** Currency before a number, matched against the last few characters. */
const BEFORE = new RegExp(
  `(?<!\\p{L})([€£¥₹₽₩₺₪₿]|(?:US|AU?|CA?|NZ|HK|S|R)?\\$|Rs\\.?|${CODE})\\s?$`,
  'u',
)
const BEFORE_LAST = /[$€£¥₹₽₩₺₪₿A-Zs.]\s?$/u
const WORD_AFTER = /[\s-]?[^\s\d,.;:!?()$-]/uy
const NUMBER = new RegExp(`${LEFT}(?:${DIGITS}|${NUMBER_WORDS})`, 'giu')
/** Separator of the two numbers of a range. */
const BETWEEN = /^(?:\s?[-–—]\s?|\s(?:to|or)\s)$/u
const END = '(?![\\p{L}\\p{N}]|[.,]\\d)'
const after = (source: string): RegExp => new RegExp(source, 'iuy')
const SCALED = after(`[\\s-]?(${SCALE})s?(?![\\p{L}\\p{N}])`)
/** Short scales need a currency: without one, `m` may mean meters. */
const SCALED_SHORT = after(`\\s?(${SCALE}|mln|mn|bn|trn|tn|[kmb])s?(?![\\p{L}\\p{N}])`)
const CURRENCY = after(`[\\s-]?(${NAME}|${CODE}|[€£¥₹₽₩₺₪])${END}`)
const CURRENCY_SHORT = after(`\\s?(mln|mn|bn|[kmb])\\s?(${CODE}|${NAME}|[€£])${END}`)
const PERCENT = after(`[\\s-]?(%|per\\s?cent|pct|percentage points?|basis points?|bps)(?!\\p{L})`)
const QUANTITY = after(`[\\s-]?(${UNIT})s?${END}`)
const COUNTED_NOUN = after(
  '\\s(?:\\p{Ll}{2,20}\\s)?(people|persons|women|men|children|police|troops|staff' +
    '|\\p{Ll}{2,20}(?<![siu])s)(?!\\p{L})',
)
/** Words that end like plurals but count nothing, or count time. */
const UNCOUNTED =
  /^(?:was|has|does|as|hers|ours|yours|theirs|times|(?:year|month|week|day|hour|minute|second)s)$/iu

interface Numeral extends Span {
  readonly number: number
  readonly text: string
}

/** Finds all amounts of `text`, in order and without overlaps. Runs in linear time. */
export const findAmounts = (text: string): Amount[] => {
  const numerals = Array.from(text.matchAll(NUMBER), ({ 0: written, index }) => ({
    start: index,
    end: index + written.length,
    text: written,
    number: numberOf(written),
  }))
  const amounts: Amount[] = []
  let lastEnd = 0
  for (const [at, numeral] of numerals.entries()) {
    const next = numerals[at + 1]
    const ranged =
      next && BETWEEN.test(text.slice(numeral.end, Math.min(next.start, numeral.end + 6)))
    const amount =
      (ranged && next.start - numeral.end < 6 ? read(text, numeral, next) : undefined) ??
      read(text, numeral)
    if (amount === undefined || amount.start < lastEnd) continue
    amounts.push(amount)
    lastEnd = amount.end
  }
  return amounts
}

/** Reads one number, or the range from `first` to `last`, with its currency, scale and unit. */
const read = (text: string, first: Numeral, last?: Numeral): Amount | undefined => {
  const number = last ?? first
  const before = unitBefore(text, first.start)
  const scale = at(before === null ? SCALED : SCALED_SHORT, text, number.end)
  const factor = scale === null ? 1 : numberOf('1', scale[1])
  const tail = number.end + (scale?.[0].length ?? 0)
  const found =
    before === null
      ? readSuffix(text, tail, number.text, scale !== null)
      : { subtype: 'money' as const, end: tail, factor: 1, ...moneyOf(before[1] ?? '') }
  if (found === undefined || (last !== undefined && found.subtype === 'number')) return undefined
  if (before !== null && /[\p{L}\p{N}]/u.test(text.charAt(tail))) return undefined
  const { subtype, end, factor: part, ...denomination } = found
  const total = (value: number): number => Number((value * factor * part).toPrecision(15))
  return {
    start: first.start - (before?.[0].length ?? 0),
    end,
    subtype,
    value: {
      number: total(first.number),
      ...(last === undefined ? {} : { upper: total(last.number) }),
      ...denomination,
    },
  }
}

const unitBefore = (text: string, end: number): RegExpExecArray | null =>
  BEFORE_LAST.test(text.slice(Math.max(0, end - 2), end))
    ? BEFORE.exec(text.slice(Math.max(0, end - 6), end))
    : null

type Suffix = Pick<Amount, 'subtype' | 'end'> & { factor: number } & Partial<AmountValue>

const readSuffix = (
  text: string,
  end: number,
  number: string,
  scaled: boolean,
): Suffix | undefined => {
  if (at(WORD_AFTER, text, end) === null && !/\D/u.test(number)) return undefined
  const short = scaled ? null : at(CURRENCY_SHORT, text, end)
  if (short !== null) {
    const factor = numberOf('1', short[1])
    return { subtype: 'money', end: end + short[0].length, factor, ...moneyOf(short[2] ?? '') }
  }
  const currency = at(CURRENCY, text, end)
  if (currency !== null) {
    const name = currency[1] ?? ''
    const factor = /^(?:cents?|pence)$/i.test(name) ? 0.01 : 1
    return { subtype: 'money', end: end + currency[0].length, factor, ...moneyOf(name) }
  }
  const percent = at(PERCENT, text, end)
  if (percent !== null) {
    const unit = /^b/i.test(percent[1] ?? '') ? 'basis point' : 'percent'
    return { subtype: 'percent', end: end + percent[0].length, factor: 1, unit }
  }
  const quantity = at(QUANTITY, text, end)
  if (quantity !== null) {
    const unit = UNITS.get((quantity[1] ?? '').toLowerCase()) ?? ''
    return { subtype: 'quantity', end: end + quantity[0].length, factor: 1, unit }
  }
  const noun = at(COUNTED_NOUN, text, end)?.[1]
  const counts = noun !== undefined && !UNCOUNTED.test(noun) && !/^(?:one|\d)$/iu.test(number)
  const large = /^\d{1,3}[,'’]\d{3}|(?:hundred|thousand|[mb]illion|dozen)$/iu.test(number)
  if (!scaled && !counts && !large) return undefined
  return /^[\p{L}\p{N}]/u.test(text.charAt(end)) ? undefined : { subtype: 'number', end, factor: 1 }
}

const at = (pattern: RegExp, text: string, index: number): RegExpExecArray | null => {
  pattern.lastIndex = index
  return pattern.exec(text)
}

const moneyOf = (written: string): { currency?: string } => {
  const currency = currencyOf(written)
  return currency === undefined ? {} : { currency }
}

const currencyOf = (written: string): string | undefined => {
  const key = written.toLowerCase()
  if (/^cents?$/.test(key)) return undefined
  return CURRENCIES.get(key) ?? CURRENCIES.get(key.replace(/s\b/, '')) ?? codeOf(written)
}

const codeOf = (written: string): string | undefined =>
  /^[A-Z]{3,4}$/.test(written) ? written.replace('RMB', 'CNY') : undefined
