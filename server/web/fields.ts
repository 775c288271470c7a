import { z } from 'zod'
import { dollars, usd } from '../../core/money.ts'

/** What fields of forms hold. All come as texts; those that were left out come as ''. */

/** A text, or null for none. */
export const optionalText = (max: number) =>
  z
    .string()
    .max(max)
    .default('')
    .transform((text) => text.trim() || null)

/** A text that REST takes, or not at all. */
export const ifGiven = z
  .string()
  .trim()
  .default('')
  .transform((text) => text || undefined)

/** Dollars, as the microdollars of REST; null for none. */
export const optionalDollars = z
  .string()
  .trim()
  .regex(/^(?:\$?\d{1,9}(?:\.\d{1,6})?)?$/, 'dollars, such as 2.50')
  .default('')
  .transform((text) => (text === '' ? null : Number(usd(text.replace('$', '')))))

/** The same, where something has to be there. */
export const someDollars = z
  .string()
  .trim()
  .regex(/^\$?\d{1,9}(?:\.\d{1,6})?$/, 'dollars, such as 2.50')
  .transform((text) => Number(usd(text.replace('$', ''))))

/** Words with commas or spaces between; null for none. */
export const optionalList = z
  .string()
  .max(4_000)
  .default('')
  .transform((text) => {
    const words = text.split(/[\s,]+/).filter(Boolean)
    return words.length === 0 ? null : words
  })

/** Lines of a text, but for empty ones. */
export const lines = z
  .string()
  .default('')
  .transform((text) =>
    text
      .split('\n')
      .map((line) => line.trim())
      .filter(Boolean),
  )

/** A box that was ticked. */
export const ticked = z
  .literal('on')
  .optional()
  .transform((value) => value === 'on')

/** What fields show of microdollars. */
export const dollarText = (amount: number | null): string =>
  amount === null ? '' : dollars(BigInt(amount))
