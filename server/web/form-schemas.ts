import { z } from 'zod'
import { dollars, usd } from '../../core/money.ts'

/** Schemas of form fields. Browsers send every field as text, and an empty one as ''. */

/** UTC month. */
export const monthField = z
  .string()
  .regex(/^20\d\d-(?:0[1-9]|1[0-2])$/, 'enter a month, such as 2026-11')

/** Trimmed text; null if empty. */
export const optionalText = (max: number) =>
  z
    .string()
    .max(max)
    .default('')
    .transform((text) => text.trim() || null)

/** Trimmed text; undefined if empty, which leaves the field out of the REST request. */
export const textOrUndefined = z
  .string()
  .trim()
  .default('')
  .transform((text) => text || undefined)

/** Whole number; undefined if empty. */
export const optionalWhole = z
  .string()
  .trim()
  .regex(/^\d{0,9}$/, 'enter a whole number or leave empty')
  .default('')
  .transform((text) => (text === '' ? undefined : Number(text)))

/** Dollars as microdollars; null if empty. */
export const optionalDollars = z
  .string()
  .trim()
  .regex(/^(?:\$?\d{1,9}(?:\.\d{1,6})?)?$/, 'enter dollars, such as 2.50')
  .default('')
  .transform((text) => (text === '' ? null : Number(usd(text.replace('$', '')))))

/** Dollars as microdollars. */
export const requiredDollars = z
  .string()
  .trim()
  .regex(/^\$?\d{1,9}(?:\.\d{1,6})?$/, 'enter dollars, such as 2.50')
  .transform((text) => Number(usd(text.replace('$', ''))))

/** Words separated by commas or spaces; null if empty. */
export const optionalList = z
  .string()
  .max(4_000)
  .default('')
  .transform((text) => {
    const words = text.split(/[\s,]+/).filter(Boolean)
    return words.length === 0 ? null : words
  })

/** Trimmed, non-empty lines of a text. */
export const lineList = z
  .string()
  .default('')
  .transform((text) =>
    text
      .split('\n')
      .map((line) => line.trim())
      .filter(Boolean),
  )

export const checkbox = z
  .literal('on')
  .optional()
  .transform((value) => value === 'on')

/** Checkbox that must be ticked before an irreversible action. */
export const confirmedCheckbox = checkbox.refine((isTicked) => isTicked, 'tick this box to confirm')

/** UTC day (`2026-11-21`) of a date field; undefined if empty. */
export const optionalDay = z
  .union([z.iso.date(), z.literal('')])
  .default('')
  .transform((text) => text || undefined)

/** Value of a dollar field for an amount in microdollars. */
export const dollarsValue = (amount: number | null): string =>
  amount === null ? '' : dollars(BigInt(amount))
