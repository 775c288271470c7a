import { isEuCountry, vatCountry } from './party.ts'

const SEPARATORS = /[\s./-]/g
/** VAT identifier of any country, without its prefix. */
const NUMBER = /^[0-9A-Z+*]{2,12}$/

/**
 * Normalizes a tax identifier: `de 136.695.976` becomes `DE136695976`. Identifiers that begin with
 * an EU country must be VAT identifiers of it with correct check digits. Others do not change.
 * @returns undefined if the identifier is wrong
 */
export async function normalizeTaxId(id: string): Promise<string | undefined> {
  const country = vatCountry(id.toUpperCase())
  if (!isEuCountry(country)) return id
  const number = id.slice(2).toUpperCase().replaceAll(SEPARATORS, '')
  if (!NUMBER.test(number)) return undefined
  const { euVat } = await import('stdnum') // large, and rarely needed
  for (const format of euVat[country]!) {
    const result = format.validate(number)
    if (result.isValid) return `${country === 'GR' ? 'EL' : country}${result.compact}`
  }
  return undefined
}
