import type { Amount, Link, Text } from '../model.ts'
import { decimal } from './decimal.ts'
import { type Node, textOf, wholeText } from './xml.ts'

const TEXT_MAX = 4_000
const EMAIL = /(?<![\p{L}\p{N}._%+-])[\p{L}\p{N}._%+-]+@[\p{L}\p{N}-]+(?:\.[\p{L}\p{N}-]+)+/gu
/** Numbers that are said to be a telephone's; bare digits may be anything. */
const TELEPHONE = new RegExp(
  '((?:tel|t[ée]l[ée]?(?:ph|f)\\p{L}{0,6}|phone|fax|mobil\\p{L}{0,4}|gsm)[\\s.:]{0,4})' +
    '\\+?[\\d\\s()/.-]{6,24}\\d',
  'giu',
)

/** Normalizes white space and removes email addresses and telephone numbers. */
export const cleanText = (text: string): string =>
  text
    .slice(0, TEXT_MAX)
    .toWellFormed() // the cut may have split a surrogate pair
    .replaceAll(/[\s\u00a0]+/gu, ' ')
    .trim()
    .replaceAll(EMAIL, '[e-mail]')
    .replaceAll(TELEPHONE, '$1[telephone]')

/** The texts of elements in several languages, as they come. */
export const textsOf = (nodes: readonly Node[], fallback: string): Text[] =>
  nodes.flatMap((node) => {
    const text = cleanText(wholeText(node))
    const lang = (node.attributes['languageID'] ?? fallback).toLowerCase().slice(0, 3)
    return text === '' ? [] : [{ lang, text }]
  })

export const WITHHELD = { amount: null, currency: null, withheld: true } as const

/** Reads the amount of an element, whose currency is an attribute. */
export function amountOf(node: Node | undefined): Amount | null {
  if (!node) return null
  const { currencyID, CURRENCY } = node.attributes
  return amountFrom(textOf(node), currencyID ?? CURRENCY)
}

/** The currency `unpublished`, or a negative amount, means withheld; a non-number is no amount. */
export function amountFrom(written: string, currencyCode: string | undefined): Amount | null {
  const text = written.replaceAll(/\s/g, '')
  const currency = (currencyCode ?? '').trim()
  if (currency.toLowerCase() === 'unpublished') return WITHHELD
  if (!/^[+-]?\d{1,30}(?:\.\d{0,20})?$/.test(text)) return null
  if (text.startsWith('-') && /[1-9]/.test(text)) return WITHHELD
  if (!/^[A-Z]{3}$/.test(currency)) return null
  return { amount: decimal(text), currency }
}

/** A link of a notice: entities that were escaped twice are read, a missing scheme is added. */
export function linkOf(text: string | undefined): Link | null {
  const raw = text?.trim() ?? ''
  if (raw === '' || raw.length > 2_048 || raw.includes('@')) return null
  const plain = raw.replaceAll(/&amp;/gi, '&').replaceAll(/\s/g, '')
  const url = /^[a-z][a-z0-9+.-]*:\/\//i.test(plain) ? plain : `https://${plain}`
  const parsed = URL.parse(url)
  const isWeb = parsed !== null && /^https?:$/.test(parsed.protocol)
  return isWeb && parsed.hostname.includes('.') ? { url, raw } : null
}

/** `00657639-2023` and `2023/S 208-657639` as `657639-2023`; undefined for other text. */
export function numberOf(text: string | undefined): string | undefined {
  const [, plain = '', plainYear = ''] = /^0*(\d{1,8})-(\d{4})$/.exec(text?.trim() ?? '') ?? []
  if (plain !== '') return Number(plain) > 0 ? `${Number(plain)}-${plainYear}` : undefined
  const [, year, ordinal] = /^(\d{4})\/S \d{1,3}-0*(\d{1,8})$/.exec(text?.trim() ?? '') ?? []
  return year === undefined ? undefined : `${Number(ordinal)}-${year}`
}

/** Reads a date at the start of a text; impossible ones such as `2024-02-30` are rejected. */
export function dayOf(text: string | undefined): string | null {
  const day = /^(?:19|20|21)\d{2}-\d{2}-\d{2}/.exec(text?.trim() ?? '')?.[0] ?? ''
  const at = Date.parse(day)
  return !Number.isNaN(at) && new Date(at).toISOString().startsWith(day) ? day : null
}

/** The number of an issue: `157/2026`, also out of `OJ S 157/2026` and `0157/2026`. */
export function issueOf(text: string | null | undefined): string | null {
  const [, issue, year] = /(?:^|\s)0*(\d{1,3})\/(\d{4})$/.exec(text?.trim() ?? '') ?? []
  return issue === undefined ? null : `${issue}/${year}`
}

const NAME_MAX = 100
/** Reads a machine identifier such as a UUID, up to a maximum length. */
export const nameOf = (text: string | undefined): string | null =>
  text === undefined || text.length > NAME_MAX ? null : text

const UUID = '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}'
const NOTICE_VERSION = new RegExp(`^(${UUID})-(\\d{2})$`, 'i')

/** Reads a reference by its shape, a number or UUID-NN, because scheme names are unreliable. */
export function referenceOf(text: string | undefined): string | null {
  const version = NOTICE_VERSION.exec(text?.trim() ?? '')
  if (version) return `${version[1]!.toLowerCase()}-${version[2]}`
  return numberOf(text) ?? null
}

/** Removes duplicates and keeps the order. */
export const distinct = <T>(values: readonly T[]): T[] => [...new Set(values)]

/** Returns a CPV code without its check digit; undefined for other text. */
export const cpvOf = (text: string | undefined): string | undefined =>
  /^(\d{8})(?:-\d)?$/.exec(text?.trim() ?? '')?.[1]

/** Reads the CPV codes in the attribute `CODE` of elements of the older forms. */
export const cpvCodesOf = (nodes: readonly Node[]): string[] =>
  nodes.flatMap(({ attributes }) => cpvOf(attributes['CODE']) ?? [])

/** Reads an xs:boolean, in which `1` means true. */
export const isTrue = (text: string | undefined): boolean => text === 'true' || text === '1'
