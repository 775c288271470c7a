import { createHash } from 'node:crypto'

/** Top-level domain of all spam rows. */
const SPAM = '.spam.example.com'

export const isSpam = (seller: string): boolean => seller.endsWith(SPAM)

/** Row of an index, with the member that identifies it. */
export interface IndexRow {
  readonly resource: string
}

const SUBJECTS = [
  'weather forecast',
  'translate text',
  'image compress resize',
  'email validation',
  'crypto price bitcoin',
  'summarize text',
  'sentiment analysis',
  'qr code',
  'password generator strength',
  'currency exchange rate',
  'ip geolocation',
  'holiday calendar',
  'domain whois dns ssl',
  'flight search',
  'sanctions screening',
  'recipe food nutrition',
  'gas price ethereum',
  'news headlines',
]
const EVERYTHING = SUBJECTS.join(' ')
const COPIES = 25

/** Rows that try to be found by stuffed words, repetition, copies and words of everything. */
export function spamRows(): IndexRow[] {
  return SUBJECTS.flatMap((subject, i) => [
    row(`stuffed${i}`, '/api', `${subject} `.repeat(4), `Best ${subject}. `.repeat(40)),
    row(`all${i}`, '/api', `${subject} API`, `#1 ${subject}! ${EVERYTHING} `.repeat(6)),
    ...Array.from({ length: COPIES }, (_, n) =>
      row(
        `copies${i}`,
        `/v${n}/${subject.replaceAll(' ', '-')}`,
        `Best ${subject} ${n}`,
        EVERYTHING,
      ),
    ),
  ])
}

function row(host: string, path: string, name: string, description: string) {
  const payTo = `0x${createHash('sha256').update(host).digest('hex').slice(0, 40)}`
  return {
    resource: `https://${host}${SPAM}${path}`,
    type: 'http',
    x402Version: 2,
    serviceName: name,
    description,
    tags: EVERYTHING.split(' '),
    accepts: [
      {
        scheme: 'exact',
        network: 'eip155:8453',
        asset: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
        amount: '1000',
        payTo,
        maxTimeoutSeconds: 60,
        extra: { name: 'USD Coin', version: '2' },
      },
    ],
  }
}
