import { z } from 'zod'
import { isCountry } from '../../../core/finance/documents/party.ts'
import { visibleText } from '../../../core/text.ts'

const text = (max: number) =>
  z
    .string()
    .trim()
    .min(1)
    .max(max)
    .refine((value) => visibleText(value) === value, 'must not contain invisible characters')

/** Billing details as they are entered. */
export const Billing = z.strictObject({
  legal_name: text(200),
  email: z.email().max(254).meta({ description: 'Electronic address for invoices.' }),
  address: text(500).nullable().default(null),
  country: z
    .string()
    .length(2)
    .refine(isCountry, 'must be a country code, such as DE')
    .meta({ description: 'ISO 3166-1 alpha-2.' }),
  registration: text(60).nullable().default(null).meta({
    description: 'Number in the register of companies.',
  }),
  tax_id: text(60)
    .nullable()
    .default(null)
    .meta({
      description:
        'VAT identifier that begins with the country, such as DE136695976, or another one. Those ' +
        'of the EU are checked, and stored without spaces.',
    }),
})

/** Documents that were issued state parties as they were entered. */
export const PartyView = z.object({
  legal_name: z.string(),
  email: z.string(),
  address: z.string().nullable(),
  country: z.string(),
  registration: z.string().nullable(),
  tax_id: z.string().nullable(),
})

export type BillingJson = z.infer<typeof Billing>
