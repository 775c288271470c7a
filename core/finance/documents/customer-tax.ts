import type { Party, Tax } from './document.ts'
import { isEuCountry, vatCountry } from './party.ts'
import { normalizeTaxId } from './tax-id.ts'

const REVERSE_CHARGE: Tax = {
  category: 'AE',
  rate_bps: 0,
  reason:
    'Reverse charge: the customer owes the VAT (Articles 44 and 196 of Directive 2006/112/EC)',
}
const OUTSIDE_EU: Tax = {
  category: 'O',
  rate_bps: 0,
  reason: 'Not subject to VAT: the customer is outside the EU',
}

/**
 * Tax of what a platform in the EU sells to a customer. A business with a VAT identifier of another
 * EU country owes the tax itself; outside the EU there is none. For all others, and for platforms
 * that are not in the EU or state no standard rate, the tax of the platform applies. Monaco counts
 * as France (Article 7 of Directive 2006/112/EC).
 */
export async function taxOfCustomer(tax: Tax, supplier: Party, customer: Party): Promise<Tax> {
  const { tax_id } = customer
  const country = customer.country === 'MC' ? 'FR' : customer.country
  if (tax.category !== 'S' || !isEuCountry(supplier.country) || country === supplier.country) {
    return tax
  }
  if (!isEuCountry(country)) return OUTSIDE_EU
  const isBusiness =
    tax_id !== null && vatCountry(tax_id) === country && (await normalizeTaxId(tax_id)) === tax_id
  return isBusiness ? REVERSE_CHARGE : tax
}
