import type { Party, Tax } from '../finance/documents/document.ts'
import { isVatId } from '../finance/documents/party.ts'
import { ConfigError } from '../runtime/config-error.ts'
import type { Environment } from './environment.ts'

/** Parties and tax of receipts, statements and credit notes. */
export interface DocumentSettings {
  /** The platform; undefined: it issues no documents. */
  readonly supplier: Party | undefined
  /** Tax that is included in the prices of the platform. */
  readonly tax: Tax
}

/** Sandboxes issue documents too, in a name that nobody takes for a company. */
const SANDBOX = {
  legal_name: 'AgentHub sandbox (test money)',
  email: 'sandbox@agenthub.example',
  address: null,
  country: 'US',
  registration: null,
}
const BPS_PER_PERCENT = 100

/** @throws ConfigError if settings contradict each other */
export function documentSettings(e: Environment, isProduction: boolean): DocumentSettings {
  const { HUB_LEGAL_NAME: name, HUB_LEGAL_EMAIL: email, HUB_LEGAL_COUNTRY: country } = e
  const { HUB_TAX_CATEGORY: category, HUB_TAX_RATE: rate, HUB_TAX_REASON: reason } = e
  const parts = [name, email, country]
  if (parts.includes(undefined) && parts.some((part) => part !== undefined)) {
    throw new ConfigError('HUB_LEGAL_NAME, HUB_LEGAL_EMAIL and HUB_LEGAL_COUNTRY: set all or none.')
  }
  if ((category === 'S') !== rate > 0) {
    throw new ConfigError('HUB_TAX_RATE must be above 0 for HUB_TAX_CATEGORY S, and only then.')
  }
  if (category !== 'O' && !isVatId(e.HUB_LEGAL_TAX_ID ?? null)) {
    throw new ConfigError(
      `HUB_TAX_CATEGORY ${category} requires HUB_LEGAL_TAX_ID, such as DE136695976: set it too.`,
    )
  }
  const tax_id = e.HUB_LEGAL_TAX_ID ?? null
  const company = name !== undefined && {
    legal_name: name,
    email: email!,
    address: e.HUB_LEGAL_ADDRESS ?? null,
    country: country!,
    registration: e.HUB_LEGAL_REGISTRATION ?? null,
    tax_id,
  }
  return {
    supplier: company || (isProduction ? undefined : { ...SANDBOX, tax_id }),
    tax: {
      category,
      rate_bps: Math.round(rate * BPS_PER_PERCENT),
      reason: category === 'S' || category === 'Z' ? null : (reason ?? REASONS[category]),
    },
  }
}

const REASONS = { E: 'Exempt from VAT', G: 'Export', O: 'Not subject to VAT' } as const
