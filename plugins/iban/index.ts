import { defineService, Refusal, s, usd } from 'agenthub/plugin'

/** Example: a pure function; the response depends only on the input. */
export default defineService({
  slug: 'iban',
  name: 'IBAN check',
  category: 'finance',
  summary: 'Tells whether an IBAN can be right, by its length and its check digits (ISO 13616).',
  provider: 'example',
  freeCallsPerMonth: 10,
  endpoints: {
    'POST /check': {
      summary: 'Checks one IBAN, and takes it apart.',
      price: usd('0.0005'),
      input: s.object({
        iban: s.string({
          minLength: 5,
          maxLength: 50,
          description: 'Spaces do not matter.',
          examples: ['DE89 3704 0044 0532 0130 00'],
        }),
      }),
      output: s.object({
        valid: s.boolean(),
        reason: s.nullable(s.oneOf(['length', 'check_digits'])),
        country: s.string(),
        formatted: s.string(),
      }),
      handle: ({ input }) => {
        const iban = input.iban.replaceAll(/[\s-]/g, '').toUpperCase()
        if (!/^[A-Z]{2}\d{2}[A-Z0-9]+$/.test(iban)) {
          throw new Refusal('not_an_iban', 'Two letters, two digits, then letters and digits.')
        }
        const country = iban.slice(0, 2)
        const reason = reasonAgainst(iban, country)
        return { valid: reason === null, reason, country, formatted: inFours(iban) }
      },
    },
  },
})

/** IBAN lengths by country; for others, the range of the standard. */
const LENGTHS: Readonly<Record<string, number>> = Object.fromEntries(
  'AT20 BE16 CH21 CZ24 DE22 DK18 EE20 ES24 FI18 FR27 GB22 GR27 HU28 IE22 IT27 LT20 LU20 LV21 NL18'
    .concat(' NO15 PL28 PT25 RO24 SE24 SI19 SK24')
    .split(' ')
    .map((text) => [text.slice(0, 2), Number(text.slice(2))]),
)

function reasonAgainst(iban: string, country: string): 'length' | 'check_digits' | null {
  const length = LENGTHS[country]
  const fits =
    length === undefined ? iban.length >= 15 && iban.length <= 34 : iban.length === length
  if (!fits) return 'length'
  return remainder(iban) === 1n ? null : 'check_digits'
}

/** Computes the checksum: country and check digits last, letters from A = 10, modulo 97. */
function remainder(iban: string): bigint {
  const turned = iban.slice(4) + iban.slice(0, 4)
  return BigInt(turned.replaceAll(/[A-Z]/g, (letter) => String(letter.charCodeAt(0) - 55))) % 97n
}

const inFours = (iban: string): string => iban.replaceAll(/(.{4})(?=.)/g, '$1 ')
