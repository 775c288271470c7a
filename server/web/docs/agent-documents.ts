import {
  type CatalogEntry,
  maxPrice,
  meteredPrice,
} from '../../../core/catalog/services/catalog.ts'
import { decimal, dollars, MIN_TOP_UP, unitCount } from '../../../core/money.ts'
import { MPP_TERMS } from '../../../core/payments/receiving/mpp-challenges.ts'
import { UPTO, type X402Terms } from '../../../core/payments/receiving/offers.ts'
import { AUDIENCES } from '../../rest/openapi/audiences.ts'

/** Public URLs of the entry points. */
export interface Site {
  readonly baseUrl: string
  readonly proxyUrl: string
  readonly mcpUrl: string
  /** Command that starts the command line. */
  readonly command: string
  /** Terms of payments per request by x402. */
  readonly x402: X402Terms
}

const byService = (
  shown: readonly CatalogEntry[],
): readonly (readonly [CatalogEntry, ...CatalogEntry[]])[] => {
  const services = Map.groupBy(shown, ({ service }) => service.slug)
  return [...services.values()] as [CatalogEntry, ...CatalogEntry[]][]
}

/** The path `/` is omitted: `/external` has a single endpoint. */
const callUrl = ({ service, path }: CatalogEntry, { proxyUrl }: Site): string =>
  `${proxyUrl}/${service.slug}${path === '/' ? '' : path}`

const endpointLine = (offering: CatalogEntry, site: Site): string =>
  `- [${offering.method} ${offering.path}](${callUrl(offering, site)}): ` +
  `${offering.endpoint.summary} Costs ` +
  (typeof offering.endpoint.price === 'bigint' ? '' : 'at most ') +
  `${decimal(maxPrice(offering.endpoint))} USD${unitPriceText(offering)}.`

const unitPriceText = ({ endpoint }: CatalogEntry): string => {
  const metered = meteredPrice(endpoint)
  if (!metered) return ''
  return `, ${decimal(metered.of.amount)} USD for ${unitCount(metered.of.per, metered.unit)}`
}

/** `/llms.txt` (llmstxt.org). */
export const llmsTxt = (shown: readonly CatalogEntry[], site: Site): string => `# AgentHub

> A marketplace where software agents find APIs, pay per request and call them.

Amounts are whole microdollars (1,000,000 = 1 USD). Free calls pay first, then credits, then x402.

## Documents

- [Getting started](${site.baseUrl}/.well-known/agents.md): registration, calls and payment
- [OpenAPI](${site.baseUrl}/openapi.json): operations for agents, machine-readable
- [API catalog](${site.baseUrl}/.well-known/api-catalog): the OpenAPI documents of everything else
- [API reference](${site.baseUrl}/docs): the same for people
- [Error codes](${site.baseUrl}/docs/problems): every error code and what to do
${byService(shown)
  .map(
    (offerings) => `
## ${offerings[0].service.name}

${offerings[0].service.summary}

${offerings.map((offering) => endpointLine(offering, site)).join('\n')}
`,
  )
  .join('')}
## Optional

- [Services](${site.baseUrl}/v1/services): the catalog as JSON
- [External listings](${site.baseUrl}/v1/external): x402 APIs of third parties, with uptime
- [MCP](${site.mcpUrl}): Model Context Protocol endpoint
`

/** `/.well-known/agents.md`: guide for agents. */
export const agentsMd = ({ baseUrl, proxyUrl, mcpUrl }: Site): string => `# AgentHub for agents

1. **Register.** \`GET ${baseUrl}/v1/register/challenge?wallet_address=0x…\`, sign
   \`message\` with \`personal_sign\`, then \`POST ${baseUrl}/v1/register\` with
   \`wallet_address\`, \`signature\` and \`nonce\`. The response contains \`api_key\`
   (\`ahk_…\`), which is shown only once.
2. **Find.** \`POST ${baseUrl}/v1/search\` with \`{"query": "…"}\`, or
   \`GET ${baseUrl}/v1/services\`.
3. **Check the price.** Add \`?dry_run\` to any call to get its price and payment source without
   charge. \`POST ${baseUrl}/v1/quotes\` guarantees a price for five minutes (\`X-Quote-Id\`).
   \`X-Max-Price\` refuses more expensive calls.
4. **Call.** \`${proxyUrl}/{slug}/{path}\` with \`Authorization: Bearer ahk_…\`. With an
   \`Idempotency-Key\`, repeated requests are charged once.
5. **Pay.** Free calls pay first, then credits (\`POST ${baseUrl}/v1/credits/purchase\`, at least
   ${dollars(MIN_TOP_UP)} USD, in USDC on Base by x402; \`@x402/fetch\` pays more than 1 USD only
   if you raise its \`maxAmountPerPayment\`). Otherwise the call returns a 402: sign its offer and
   send \`PAYMENT-SIGNATURE\`, or pay its MPP challenge (\`Authorization: Payment\`), or sign its
   \`sign-in-with-x\` challenge and send \`SIGN-IN-WITH-X\`: the credits of the wallet pay. Offers
   of the scheme \`upto\` authorize the maximum of a metered price, of which the usage is taken.
6. **Verify.** \`X-Charged-Microdollars\` is the cost. \`X-Receipt\` is signed; public keys are at
   ${baseUrl}/.well-known/jwks.json. Failed calls are refunded immediately, with a reason.

Sign requests by Web Bot Auth (\`Signature-Agent\`, a fresh nonce each) to be known by the host of
your key directory: \`X-Agent\` confirms it, \`X-Agent-Problem\` says why not. Owners of pages may
have prices for agents.

External x402 APIs: \`POST ${proxyUrl}/external\` with \`url\`, \`method\`,
\`headers\` and \`body\`; credits pay exactly the seller's price, by a key or by signing the
challenge of its 402. MCP: ${mcpUrl}.
Errors: ${baseUrl}/docs/problems.
`

/**
 * Offers of endpoints with metered prices, which wallets pay by the scheme `upto`: the maximum and
 * the unit price, in atomic units of USDC (microdollars).
 */
const meteredOffers = (payable: readonly CatalogEntry[], site: Site) =>
  payable.flatMap((entry) => {
    const metered = meteredPrice(entry.endpoint)
    if (!metered) return []
    const { amount, per } = metered.of
    return {
      resource: callUrl(entry, site),
      method: entry.method,
      scheme: UPTO,
      amount: String(maxPrice(entry.endpoint)),
      unit: metered.unit,
      unit_price: { amount: String(amount), per: String(per) },
    }
  })

/**
 * `/.well-known/x402`: every URL that responds 402 with an offer, and the terms of all of them.
 * @param payable endpoints that wallets pay per request
 */
export const x402Resources = (payable: readonly CatalogEntry[], site: Site) => ({
  version: 1,
  x402: site.x402,
  mpp: MPP_TERMS,
  resources: [...new Set(payable.map((offering) => callUrl(offering, site)))],
  metered: meteredOffers(payable, site),
})

/** `/.well-known/api-catalog` (RFC 9727), a linkset (RFC 9264) of all OpenAPI documents. */
export const apiCatalog = (shown: readonly CatalogEntry[], { baseUrl, proxyUrl }: Site) => {
  const slugs = [...new Set(shown.map(({ service }) => service.slug))]
  return {
    linkset: [
      {
        anchor: `${baseUrl}/.well-known/api-catalog`,
        item: [`${baseUrl}/v1`, ...slugs.map((slug) => `${proxyUrl}/${slug}`)].map((href) => ({
          href,
        })),
      },
      {
        anchor: `${baseUrl}/v1`,
        'service-desc': Object.values(AUDIENCES).map(({ path, title }) => ({
          href: `${baseUrl}${path}`,
          type: 'application/json',
          title,
        })),
        'service-doc': [{ href: `${baseUrl}/docs`, type: 'text/html' }],
        status: [{ href: `${baseUrl}/health`, type: 'application/json' }],
      },
      ...slugs.map((slug) => ({
        anchor: `${proxyUrl}/${slug}`,
        'service-desc': [
          { href: `${baseUrl}/v1/services/${slug}/openapi.json`, type: 'application/json' },
        ],
        'service-doc': [{ href: `${baseUrl}/services/${slug}`, type: 'text/html' }],
      })),
    ],
  }
}

/** Transport of A2A 0.3 that comes closest to the one of MCP: JSON-RPC 2.0 over HTTP. */
const MCP_TRANSPORT = 'JSONRPC'
/** URI of the binding by which the hub serves its skills: MCP, not a protocol of A2A itself. */
const MCP_BINDING = 'https://modelcontextprotocol.io'

/**
 * `/.well-known/agent-card.json`: A2A agent card with a skill for each service, valid for versions
 * 1.0 (`supportedInterfaces`, `securityRequirements`) and 0.3 (the members with other names).
 */
export const agentCard = (
  shown: readonly CatalogEntry[],
  payable: readonly CatalogEntry[],
  site: Site,
  version: string,
) => ({
  protocolVersion: '0.3.0',
  name: 'AgentHub',
  description: 'A marketplace where software agents find APIs, pay per request and call them.',
  version,
  supportedInterfaces: [{ url: site.mcpUrl, protocolBinding: MCP_BINDING, protocolVersion: '1.0' }],
  url: site.mcpUrl,
  preferredTransport: MCP_TRANSPORT,
  documentationUrl: `${site.baseUrl}/docs`,
  provider: { organization: 'AgentHub', url: site.baseUrl },
  capabilities: {
    streaming: false,
    pushNotifications: false,
    extensions: [
      {
        uri: 'https://github.com/x402-foundation/x402',
        description: 'Calls are paid per request by x402, or from credits.',
        required: false,
        params: { ...site.x402, metered: meteredOffers(payable, site) },
      },
      {
        uri: 'https://paymentauth.org',
        description: 'Calls are paid per request by MPP, the HTTP authentication scheme Payment.',
        required: false,
        params: MPP_TERMS,
      },
    ],
  },
  securitySchemes: {
    apiKey: {
      type: 'http',
      scheme: 'bearer',
      httpAuthSecurityScheme: { scheme: 'Bearer', description: 'AgentHub API key.' },
    },
  },
  security: [{ apiKey: [] }],
  securityRequirements: [{ schemes: { apiKey: { list: [] } } }],
  defaultInputModes: ['application/json'],
  defaultOutputModes: ['application/json'],
  skills: byService(shown).map(([{ service }]) => ({
    id: service.slug,
    name: service.name,
    description: service.summary,
    tags: [service.category],
  })),
})

/** `/server.json` for the MCP registry, which verifies the reversed domain in its name. */
export const registryEntry = ({ baseUrl, mcpUrl }: Site, version: string) => ({
  $schema: 'https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json',
  name: `${reverseDomain(mcpUrl)}/agenthub`,
  title: 'AgentHub',
  description: 'Finds APIs, pays per request and calls them, with one key.',
  version,
  websiteUrl: `${baseUrl}/docs/agents`,
  remotes: [
    {
      type: 'streamable-http',
      url: mcpUrl,
      headers: [
        {
          name: 'Authorization',
          description: 'AgentHub API key.',
          value: 'Bearer {api_key}',
          isRequired: true,
          isSecret: true,
          variables: {
            api_key: {
              description: `API key; see ${baseUrl}/.well-known/agents.md.`,
              placeholder: 'ahk_…',
              isRequired: true,
              isSecret: true,
            },
          },
        },
      ],
    },
  ],
})

const reverseDomain = (url: string): string =>
  new URL(url).hostname
    .replaceAll(/[^\w.-]/g, '-')
    .split('.')
    .toReversed()
    .join('.')
