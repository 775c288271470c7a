import { type CatalogEntry, maxPrice } from '../../../core/catalog/services/catalog.ts'
import { decimal } from '../../../core/money.ts'

/** Where the doors are, as callers see them. */
export interface Site {
  readonly baseUrl: string
  readonly proxyUrl: string
  readonly mcpUrl: string
}

const byService = (
  shown: readonly CatalogEntry[],
): readonly (readonly [CatalogEntry, ...CatalogEntry[]])[] => {
  const services = Map.groupBy(shown, ({ service }) => service.slug)
  return [...services.values()] as [CatalogEntry, ...CatalogEntry[]][]
}

/** `/external` is a service of a single endpoint, without a path below its slug. */
const callUrl = ({ service, path }: CatalogEntry, { proxyUrl }: Site): string =>
  `${proxyUrl}/${service.slug}${path === '/' ? '' : path}`

const endpointLine = (offering: CatalogEntry, site: Site): string =>
  `- [${offering.method} ${offering.path}](${callUrl(offering, site)}): ` +
  `${offering.endpoint.summary} Costs ` +
  (typeof offering.endpoint.price === 'bigint' ? '' : 'at most ') +
  `${decimal(maxPrice(offering.endpoint))} USD.`

/** `/llms.txt`, by the convention of llmstxt.org. */
export const llmsTxt = (shown: readonly CatalogEntry[], site: Site): string => `# AgentHub

> A marketplace where software agents find APIs, pay for them per request and call them.

Amounts are whole microdollars (1,000,000 are 1 USD). Free calls pay first, then credits, then x402.

## Documents

- [How to begin](${site.baseUrl}/.well-known/agents.md): registration, payment, calls, step by step
- [OpenAPI](${site.baseUrl}/openapi.json): every operation, machine-readable
- [Reference](${site.baseUrl}/docs): the same for people
- [Problems](${site.baseUrl}/docs/problems): every error code, and what to do about it
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

- [Services](${site.baseUrl}/v1/services): the catalogue as JSON
- [External listings](${site.baseUrl}/v1/external): x402 APIs of others, watched for uptime
- [MCP](${site.mcpUrl}): the same by the Model Context Protocol
`

/** `/.well-known/agents.md`: how an agent begins. */
export const agentsMd = ({ baseUrl, proxyUrl, mcpUrl }: Site): string => `# AgentHub for agents

1. **Register.** \`GET ${baseUrl}/v1/register/challenge?wallet_address=0x…\`, sign
   \`message\` with \`personal_sign\`, then \`POST ${baseUrl}/v1/register\` with
   \`wallet_address\`, \`signature\` and \`nonce\`. The answer has \`api_key\`
   (\`ahk_…\`), shown once.
2. **Find.** \`POST ${baseUrl}/v1/search\` with \`{"query": "…"}\`, or
   \`GET ${baseUrl}/v1/services\`.
3. **Ask the price.** Add \`?dry_run\` to any call: price, who pays and what is left; nothing moves.
   \`POST ${baseUrl}/v1/quotes\` holds a price for five minutes (\`X-Quote-Id\`).
   \`X-Max-Price\` refuses what is dearer.
4. **Call.** \`${proxyUrl}/{slug}/{path}\` with \`Authorization: Bearer ahk_…\`. Send an
   \`Idempotency-Key\`, and repeat freely: it is charged once.
5. **Pay.** Free calls first, then credits (\`POST ${baseUrl}/v1/credits/purchase\`, USDC on Base by
   x402), else the 402 of the call itself: sign its offer and send \`PAYMENT-SIGNATURE\`.
6. **Check.** \`X-Charged-Microdollars\` is what it cost. \`X-Receipt\` is signed; keys are at
   ${baseUrl}/.well-known/jwks.json. What failed is refunded at once, with a reason.

APIs of others that take x402: \`POST ${proxyUrl}/external\` with \`url\`, \`method\`,
\`headers\` and \`body\`; credits pay exactly what the seller asks. By MCP: ${mcpUrl}.
Errors: ${baseUrl}/docs/problems.
`

/** `/.well-known/x402`: every address that answers 402 with an offer. */
export const x402Resources = (
  shown: readonly CatalogEntry[],
  creditsOnly: ReadonlySet<string>,
  site: Site,
) => ({
  version: 1,
  resources: [
    ...new Set(
      shown
        .filter(({ service }) => !creditsOnly.has(service.slug))
        .map((offering) => callUrl(offering, site)),
    ),
  ],
})

/** `/.well-known/api-catalog` (RFC 9727), a linkset (RFC 9264). */
export const apiCatalog = ({ baseUrl }: Site) => ({
  linkset: [
    {
      anchor: `${baseUrl}/.well-known/api-catalog`,
      item: [{ href: `${baseUrl}/v1` }],
    },
    {
      anchor: `${baseUrl}/v1`,
      'service-desc': [{ href: `${baseUrl}/openapi.json`, type: 'application/json' }],
      'service-doc': [{ href: `${baseUrl}/docs`, type: 'text/html' }],
      status: [{ href: `${baseUrl}/health`, type: 'application/json' }],
    },
  ],
})

/** `/.well-known/agent-card.json`: the hub as others list agents, with a skill for each service. */
export const agentCard = (shown: readonly CatalogEntry[], site: Site, version: string) => ({
  name: 'AgentHub',
  description:
    'A marketplace where software agents find APIs, pay for them per request and call them.',
  version,
  url: site.mcpUrl,
  preferredTransport: 'MCP',
  documentationUrl: `${site.baseUrl}/docs`,
  capabilities: { streaming: false, pushNotifications: false },
  securitySchemes: { apiKey: { type: 'http', scheme: 'bearer' } },
  security: [{ apiKey: [] }],
  defaultInputModes: ['application/json'],
  defaultOutputModes: ['application/json'],
  skills: byService(shown).map(([{ service }]) => ({
    id: service.slug,
    name: service.name,
    description: service.summary,
    tags: [service.category],
  })),
})

/**
 * `/server.json`: the hub in the form of the registry of MCP, for the owner of its domain to
 * publish there: a name begins with the domain, backwards, and the registry asks for a proof.
 */
export const registryEntry = ({ baseUrl, mcpUrl }: Site, version: string) => ({
  $schema: 'https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json',
  name: `${reverseDomain(mcpUrl)}/agenthub`,
  title: 'AgentHub',
  description: 'Finds APIs, pays for them per request and calls them, with one key.',
  version,
  websiteUrl: `${baseUrl}/docs/agents`,
  remotes: [
    {
      type: 'streamable-http',
      url: mcpUrl,
      headers: [
        {
          name: 'Authorization',
          description: 'The key of the hub.',
          value: 'Bearer {api_key}',
          isRequired: true,
          isSecret: true,
          variables: {
            api_key: {
              description: `A key: ${baseUrl}/.well-known/agents.md says how to get one.`,
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
