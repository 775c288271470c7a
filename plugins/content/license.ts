import { micros, type PageRule, type SellingDomain } from 'agenthub/plugin'

/** Media type of RSL 1.0 (Really Simple Licensing). */
export const LICENSE_TYPE = 'application/rsl+xml'

/** Address of the terms of a domain's pages. */
export const licenseUrl = ({ serviceUrl }: SellingDomain): string => `${serviceUrl}/license.xml`

/** Header that refers to the terms of a page that is delivered. */
export const licenseLink = (domain: SellingDomain): string =>
  `<${licenseUrl(domain)}>; rel="license"; type="${LICENSE_TYPE}"`

/**
 * Returns the terms of a domain's pages as RSL: a payment per page, by x402 among others, or a
 * prohibition. What buyers may use the pages for is for the owner to say elsewhere.
 */
export const licenseOf = (domain: SellingDomain): Buffer =>
  Buffer.from(`<?xml version="1.0" encoding="UTF-8"?>
<rsl xmlns="https://rslstandard.org/rsl" max-age="1">
${rulesOf(domain)
  .map((rule) => contentOf(rule, domain))
  .join('')}</rsl>
`)

type Terms = Pick<PageRule, 'pattern' | 'allow' | 'price'>

/** A site without rules for everyone sells nothing to them. */
const rulesOf = ({ rules }: SellingDomain): readonly Terms[] =>
  rules.length > 0 ? rules : [{ pattern: '/**', allow: false, price: micros(0n) }]

function contentOf({ pattern, allow, price }: Terms, domain: SellingDomain): string {
  const url = escape(`${domain.origin}${pathOf(pattern)}`)
  const terms = allow ? paymentOf(price, domain) : '<prohibits type="usage">all</prohibits>'
  return `  <content url="${url}">
    <license>
      ${terms}
    </license>
  </content>
`
}

const paymentOf = (price: bigint, { serviceUrl }: SellingDomain): string =>
  price === 0n
    ? '<payment type="free"/>'
    : `<payment type="crawl">
        <custom>${escape(`${serviceUrl}/fetch`)}</custom>
        <amount currency="USD">${dollars(price)}</amount>
        <accepts type="application/x402+json"/>
      </payment>`

/** Path by the rules of robots.txt, where `*` is any text and `$` the end. */
function pathOf(pattern: string): string {
  const path = encodeURI(pattern.replace(/\*+/g, '*')).replaceAll('$', '%24')
  return path.endsWith('*') ? path : `${path}$`
}

const MICROS = 1_000_000n

const dollars = (price: bigint): string =>
  `${price / MICROS}.${String(price % MICROS).padStart(6, '0')}`

const escape = (text: string): string =>
  text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`)
