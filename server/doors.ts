import { USDC_BASE } from '../core/payments/asset.ts'
import { WebhookSigner } from '../core/webhooks/sign.ts'
import { createApp } from './app.ts'
import type { HubOptions } from './hub.ts'
import { canMail, openLinks } from './mail.ts'
import { MCP_PATH, mcpDoor } from './mcp/door.ts'
import { hubTools } from './mcp/tools/index.ts'
import { call, type Steps } from './proxy/call.ts'
import { PROXY_PATH } from './proxy/door.ts'
import { accountRoutes } from './rest/account.ts'
import { adminRoutes } from './rest/admin.ts'
import { callRoutes } from './rest/calls.ts'
import { catalogRoutes } from './rest/catalog.ts'
import { creditsRoutes } from './rest/credits.ts'
import { docsRoutes } from './rest/docs.ts'
import type { Site } from './rest/docs-agents.ts'
import { domainRoutes } from './rest/domains.ts'
import { externalRoutes } from './rest/external.ts'
import { faucetRoutes } from './rest/faucet.ts'
import { financeRoutes } from './rest/finance.ts'
import { healthRoutes } from './rest/health.ts'
import { historyRoutes } from './rest/history.ts'
import { inside } from './rest/inside.ts'
import { keyRoutes } from './rest/keys.ts'
import { listingRoutes } from './rest/listings.ts'
import { metricsRoutes } from './rest/metrics.ts'
import { openapi, serviceDocument } from './rest/openapi.ts'
import { ownershipRoutes } from './rest/ownership.ts'
import { providerRoutes } from './rest/provider.ts'
import { quoteRoutes } from './rest/quotes.ts'
import { receiptRoutes } from './rest/receipts.ts'
import { registrationRoutes } from './rest/registration.ts'
import type { AnyRoute } from './rest/route.ts'
import { sessionRoutes } from './rest/sessions.ts'
import { topupRoutes } from './rest/topups.ts'
import { transferRoutes } from './rest/transfers.ts'
import { walletRoutes } from './rest/wallet.ts'
import { webhookRoutes } from './rest/webhooks.ts'
import { type Core, CREDITS_ONLY, type Registers, registersOf, stepsOf } from './steps.ts'
import { sealingKeysOf, upstreamRoutes } from './upstreams.ts'
import { web } from './web/index.ts'

/** What there is to see of the wallets of the house. */
const housekeeping = ({ money: { chain, treasury, spend, gas, finality } }: HubOptions) => ({
  chain,
  treasury,
  spend: spend.address,
  gas,
  finality,
})

/** Every address of the house, in lower case. */
const walletsOf = ({ money: { treasury, spend, others } }: HubOptions): readonly string[] =>
  [treasury, spend.address, ...others].map((address) => address.toLowerCase())

/** The endpoint of MCP: the same steps, and tools. */
function mcpOf(
  core: Core,
  { baseUrl, mcpUrl, mcpOrigins, version }: HubOptions,
  steps: Steps,
  registers: Registers,
) {
  return mcpDoor({
    ...core,
    ...registers,
    tools: hubTools({ ...core, ...registers, steps, baseUrl }),
    admission: { origins: () => [baseUrl(), mcpUrl ?? baseUrl()], allowed: mcpOrigins },
    version,
  })
}

/** The REST routes, joined to core. */
function routesOf(
  core: Core,
  options: HubOptions,
  steps: Steps,
  registers: Registers,
): readonly AnyRoute[] {
  const { pool, ledger, claims, offers, calls, clock, log } = core
  const { baseUrl, version, sandbox } = options
  const { standing, limits, answers, receipts, quotes } = registers
  const site = { origin: baseUrl, chainId: USDC_BASE.chainId }
  const signing = { pool, ledger, limits, site, contracts: options.contracts }
  const links = openLinks(pool, options.signingKey)
  const secret = options.signingKey.secretFor('listing-owner')
  const proxyUrl = () => `${baseUrl()}${PROXY_PATH}`
  const buying = { pool, ledger, standing, claims, offers, clock, log }
  return [
    ...healthRoutes(pool, { version, sandbox }, core.draining),
    ...metricsRoutes({ ...core, metricsToken: options.metricsToken, ...housekeeping(options) }),
    ...registrationRoutes(signing),
    ...catalogRoutes(pool, proxyUrl, clock, core.meaning),
    ...externalRoutes(pool, clock),
    ...listingRoutes({ ...core.discovery, clock }),
    ...ownershipRoutes({ ...core.discovery, secret }),
    ...domainRoutes({ ...core, ...core.discovery, secret, proxyUrl }),
    ...upstreamRoutes(core, options, proxyUrl),
    ...walletRoutes({ pool, standing, clock }),
    ...creditsRoutes(buying),
    ...topupRoutes(buying),
    ...historyRoutes(pool),
    ...callRoutes({ pool, calls, answers, receipts }),
    ...quoteRoutes({
      quotes,
      quote: (...asked) => steps.quote(...asked),
      passThrough: CREDITS_ONLY,
    }),
    ...receiptRoutes(pool, receipts),
    ...keyRoutes({ pool, ledger }),
    ...adminRoutes({ pool, clock, log, admins: options.admins, keys: sealingKeysOf(options) }),
    ...providerRoutes({
      ...signing,
      clock,
      secret,
      ownWallets: walletsOf(options),
      cooldownHours: options.payouts.cooldownHours,
      minimumPayout: options.payouts.minimum,
      commissionBps: options.commissionBps,
    }),
    ...transferRoutes({ ...signing, clock }),
    ...(canMail(sandbox, options.mail) ? accountRoutes({ ...signing, links }) : []),
    ...sessionRoutes({ pool, baseUrl }),
    ...faucetRoutes(options.money.faucet),
    ...webhookRoutes({
      pool,
      signer: new WebhookSigner(options.signingKey.secretFor('webhooks')),
      rules: options.egress,
    }),
    ...financeRoutes({ ...options, ...housekeeping(options), pool, ledger, clock, log, calls }),
  ]
}

/** What people see in a browser. */
function webOf(
  { pool, clock, log, calls }: Core,
  { money, sandbox, signingKey, mail, admins }: HubOptions,
  { limits, receipts, answers }: Registers,
  routes: readonly AnyRoute[],
  site: () => Site,
) {
  return web({
    pool,
    admins,
    clock,
    log,
    limits,
    calls,
    receipts,
    answers,
    links: canMail(sandbox, mail) ? openLinks(pool, signingKey) : undefined,
    site: { sandbox },
    inside: inside(routes, () => site().baseUrl, { pool, admins }),
    baseUrl: () => site().baseUrl,
    proxyUrl: () => site().proxyUrl,
    mcpUrl: () => site().mcpUrl,
    treasury: money.treasury,
    genesis: async () => (sandbox ? money.chain.genesis() : undefined),
  })
}

/** Joins the doors to core. */
export function openDoors(core: Core, options: HubOptions) {
  const { pool, catalog } = core
  const { baseUrl, mcpUrl, version } = options
  const registers = registersOf(core, options)
  const steps = stepsOf(core, options, registers)
  const site = () => ({
    baseUrl: baseUrl(),
    proxyUrl: `${baseUrl()}${PROXY_PATH}`,
    mcpUrl: `${mcpUrl ?? baseUrl()}${MCP_PATH}`,
  })
  const api = () => ({ baseUrl: baseUrl(), proxyPath: PROXY_PATH })
  const routes: readonly AnyRoute[] = [
    ...routesOf(core, options, steps, registers),
    ...docsRoutes({
      catalog,
      site,
      openapi: (shown) => openapi(routes, shown, api()),
      describe: (shown) => serviceDocument(shown, api()),
      creditsOnly: CREDITS_ONLY,
      version,
      sandbox: options.sandbox,
    }),
  ]
  return createApp({
    ...core,
    ...registers,
    routes,
    mcp: mcpOf(core, options, steps, registers),
    web: webOf(core, options, registers, routes, site),
    call: (request) => call(steps, request),
    pool,
    admins: options.admins,
    baseUrl,
    proxies: options.proxies,
  })
}
