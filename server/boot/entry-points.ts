import type { CatalogEntry } from '../../core/catalog/services/catalog.ts'
import { PriceFeed } from '../../core/finance/price-feed.ts'
import { USDC_BASE } from '../../core/payments/chain/asset.ts'
import { x402Terms } from '../../core/payments/receiving/offers.ts'
import { commandLine } from '../../core/release.ts'
import { WebhookSigner } from '../../core/webhooks/signer.ts'
import { createApp } from '../app.ts'
import { MCP_PATH, mcpEntry } from '../mcp/entry.ts'
import { endpointTools } from '../mcp/tools/endpoint-tools.ts'
import { hubTools } from '../mcp/tools/index.ts'
import { limitRate } from '../proxy/authenticate.ts'
import { call } from '../proxy/call.ts'
import type { CallDeps } from '../proxy/call-deps.ts'
import { PROXY_PATH } from '../proxy/entry.ts'
import { isPayablePerRequest } from '../proxy/payment-required.ts'
import { quote } from '../proxy/quote.ts'
import { accountRoutes } from '../rest/account/accounts.ts'
import { activityRoutes, withActivity } from '../rest/account/activity.ts'
import { callRoutes } from '../rest/account/calls.ts'
import { creditsRoutes } from '../rest/account/credits.ts'
import { documentRoutes } from '../rest/account/documents.ts'
import { faucetRoutes } from '../rest/account/faucet.ts'
import { historyRoutes } from '../rest/account/history.ts'
import { keyTransferRoutes } from '../rest/account/key-transfers.ts'
import { keyRoutes } from '../rest/account/keys.ts'
import { mailSubscriptionRoutes } from '../rest/account/mail-subscriptions.ts'
import { quoteRoutes } from '../rest/account/quotes.ts'
import { rateRequestRoutes } from '../rest/account/rate-requests.ts'
import { receiptRoutes } from '../rest/account/receipts.ts'
import { registrationRoutes, type SigningDeps } from '../rest/account/registration.ts'
import { sessionRoutes } from '../rest/account/sessions.ts'
import { signInRoutes } from '../rest/account/sign-in.ts'
import { topupRoutes } from '../rest/account/topups.ts'
import { walletRoutes } from '../rest/account/wallet.ts'
import { webhookRoutes } from '../rest/account/webhooks.ts'
import { adminRoutes } from '../rest/admin/index.ts'
import { externalListingRoutes } from '../rest/catalog/external-listings.ts'
import { ownershipRoutes } from '../rest/catalog/ownership.ts'
import { catalogRoutes } from '../rest/catalog/services.ts'
import { submissionRoutes } from '../rest/catalog/submissions.ts'
import { checkpointRoutes } from '../rest/checkpoints.ts'
import { financeRoutes } from '../rest/finance/index.ts'
import { healthRoutes } from '../rest/health.ts'
import { inProcessApi } from '../rest/in-process.ts'
import { keyDirectoryRoutes } from '../rest/key-directory.ts'
import { metricsRoutes } from '../rest/metrics.ts'
import { audienceDocument, openApiDocument, serviceDocument } from '../rest/openapi/document.ts'
import { domainRoutes } from '../rest/provider/domains/index.ts'
import { providerRoutes } from '../rest/provider/index.ts'
import { providerNameRoutes } from '../rest/provider/name.ts'
import type { AnyRoute } from '../rest/route.ts'
import { treeRoutes } from '../rest/trees.ts'
import { payTestCredits } from '../sandbox/test-credits.ts'
import type { Site } from '../web/docs/agent-documents.ts'
import { docsRoutes } from '../web/docs/index.ts'
import { webPages } from '../web/index.ts'
import { createCallDeps, createSharedServices, type SharedServices } from './call-deps.ts'
import { canMail, openLinks } from './mail.ts'
import { type Core, CREDITS_ONLY, type HubOptions } from './options.ts'
import { createSealingKeys, upstreamRoutes } from './upstreams.ts'

const openPriceFeed = ({ egress, clock }: Core, { gas }: HubOptions): PriceFeed | undefined =>
  gas.priceFeed === undefined
    ? undefined
    : new PriceFeed({ url: gas.priceFeed, reference: gas.ethPrice }, egress, () => clock.now())

/** Returns the platform wallets, for reports. */
const platformWallets = ({ money }: HubOptions) => ({
  chain: money.chain,
  treasury: money.treasury,
  spend: money.spend.address,
  gas: money.gas,
  finality: money.finality,
  networks: money.networks,
})

const financeDeps = (core: Core, options: HubOptions) => ({
  ...options,
  ...platformWallets(options),
  ...core,
  pool: core.financePool,
  priceFeed: openPriceFeed(core, options),
})

/** Returns all platform addresses, in lower case. */
const platformAddresses = ({ money: { treasury, spend, others } }: HubOptions): readonly string[] =>
  [treasury, spend.address, ...others].map((address) => address.toLowerCase())

/** Command that starts the command line, as pages and messages show it. */
const cliCommandOf = ({ cliCommand, baseUrl, version }: HubOptions): string =>
  cliCommand ?? commandLine(baseUrl(), version)

/** MCP endpoint, whose paid tools make the same calls as the proxy. */
function createMcp(core: Core, options: HubOptions, callDeps: CallDeps, services: SharedServices) {
  const { baseUrl, mcpUrl, mcpOrigins, version, sandbox } = options
  const cliCommand = () => cliCommandOf(options)
  return mcpEntry({
    ...core,
    ...services,
    tools: hubTools({ ...core, ...services, callDeps, baseUrl, cliCommand, sandbox }),
    toolsOf: endpointTools({ ...core, callDeps }),
    originPolicy: { origins: () => [baseUrl(), mcpUrl ?? baseUrl()], allowed: mcpOrigins },
    version,
    url: () => `${mcpUrl ?? baseUrl()}${MCP_PATH}`,
    cliCommand,
  })
}

function createRoutes(
  core: Core,
  options: HubOptions,
  callDeps: CallDeps,
  services: SharedServices,
): readonly AnyRoute[] {
  const { pool, ledger, secretKeys, claims, offers, calls, clock, log } = core
  const { baseUrl } = options
  const { accountStatus, limits, responses, receipts, quotes } = services
  const site = { origin: baseUrl, chainId: USDC_BASE.chainId }
  const signing = { pool, ledger, limits, site, contracts: options.contracts }
  const callerNames = secretKeys.of('caller-names')
  const sealing = { ...options, secretKeys }
  const keys = createSealingKeys(sealing)
  const proxyUrl = () => `${baseUrl()}${PROXY_PATH}`
  const { chain, networks } = options.money
  const buying = { pool, ledger, accountStatus, claims, offers, chain, networks, clock, log }
  return [
    ...registrationRoutes(signing),
    ...createCatalogRoutes(core, options, proxyUrl),
    ...upstreamRoutes(core, sealing, proxyUrl),
    ...walletRoutes({ pool, accountStatus, clock }),
    ...creditsRoutes(buying),
    ...topupRoutes(buying),
    ...rateRequestRoutes({ pool }),
    ...historyRoutes({ pool, calls }),
    ...documentRoutes({ ...options.documents, pool, clock, calls }),
    ...callRoutes({ pool, calls, answers: responses, receipts }),
    ...quoteRoutes({
      quotes,
      quote: (caller, request) => quote(callDeps, caller, request),
      passThrough: CREDITS_ONLY,
    }),
    ...receiptRoutes(pool, receipts, baseUrl),
    ...keyRoutes({ pool, ledger, clock }),
    ...adminRoutes({ ...options, ...platformWallets(options), pool, clock, log, keys }),
    ...providerRoutes({
      ...signing,
      recentReads: core.recentReads,
      clock,
      callerNames,
      ownWallets: platformAddresses(options),
      payouts: options.payouts,
      commissionBps: options.commissionBps,
    }),
    ...keyTransferRoutes({ ...signing, clock }),
    ...createAccountRoutes(core, options, services, signing),
    ...faucetRoutes(options.money.faucet),
    ...webhookRoutes({
      pool,
      signer: new WebhookSigner(secretKeys.of('webhooks')),
      rules: options.egress,
    }),
    ...financeRoutes(financeDeps(core, options)),
  ]
}

/** Routes of people and wallets that sign in. */
function createAccountRoutes(
  { pool, secretKeys }: Core,
  options: HubOptions,
  { linkGate }: SharedServices,
  signing: SigningDeps,
): readonly AnyRoute[] {
  const sendsMail = canMail(options.sandbox, options.mail)
  const links = sendsMail ? openLinks(pool, secretKeys, linkGate) : undefined
  return [
    ...signInRoutes({ ...signing, links }),
    ...accountRoutes(signing),
    ...activityRoutes({ pool }),
    ...sessionRoutes({ ...options, pool }),
    ...mailSubscriptionRoutes({ pool }),
  ]
}

function createCatalogRoutes(
  core: Core,
  { listing }: HubOptions,
  proxyUrl: () => string,
): readonly AnyRoute[] {
  const { pool, clock, secretKeys } = core
  const discovery = { ...core.discovery, pool }
  const proofKeys = secretKeys.of('domain-proofs')
  const callerNames = secretKeys.of('caller-names')
  const { approval } = listing
  return [
    ...catalogRoutes({ ...core, proxyUrl }),
    ...externalListingRoutes(core.recentReads, clock),
    ...submissionRoutes(discovery),
    ...ownershipRoutes({ ...discovery, proofKeys }),
    ...providerNameRoutes({ pool, approval, proxyUrl }),
    ...domainRoutes({ ...core, ...discovery, proofKeys, callerNames, proxyUrl, approval }),
  ]
}

/** `AgentHub <hub@example.com>` → `hub@example.com` */
const addressOf = (from: string): string => from.slice(from.lastIndexOf('<') + 1).replace('>', '')

function createWeb(
  { pool, recentReads, secretKeys, clock, log, calls, claims }: Core,
  { money, sandbox, mail, admins, staff, contracts, ...options }: HubOptions,
  { limits, receipts, responses, sessionGate, linkGate }: SharedServices,
  callDeps: CallDeps,
  routes: readonly AnyRoute[],
  site: () => Site,
) {
  return webPages({
    pool,
    recentReads,
    admins,
    staff,
    clock,
    log,
    limits,
    calls,
    claims,
    call: async (request) => {
      if (request.caller) await limitRate(callDeps, request.caller)
      return call(callDeps, request)
    },
    receipts,
    answers: responses,
    sessionGate,
    contracts,
    links: canMail(sandbox, mail) ? openLinks(pool, secretKeys, linkGate) : undefined,
    site: { sandbox, baseUrl: () => site().baseUrl },
    version: options.version,
    securityContact: options.securityContact ?? (mail && `mailto:${addressOf(mail.from)}`),
    payTest: money.faucet && payTestCredits(money.faucet, options.baseUrl),
    apiFor: inProcessApi(routes, () => site().baseUrl, { pool, admins, staff }),
    baseUrl: () => site().baseUrl,
    proxyUrl: () => site().proxyUrl,
    mcpUrl: () => site().mcpUrl,
    command: () => site().command,
    treasury: money.treasury,
    genesis: async () => (sandbox ? money.chain.genesis() : undefined),
  })
}

/** Creates the entry points (proxy, MCP, REST, web) on top of core. */
export function openEntryPoints(core: Core, options: HubOptions) {
  const { pool, catalog } = core
  const { baseUrl, mcpUrl, version, sandbox } = options
  const pages = { ...core, pool: core.pagePool }
  const services = createSharedServices(core, options)
  const callDeps = createCallDeps(core, options, services)
  const x402 = x402Terms(options.money.networks)
  const site = () => ({
    baseUrl: baseUrl(),
    proxyUrl: `${baseUrl()}${PROXY_PATH}`,
    mcpUrl: `${mcpUrl ?? baseUrl()}${MCP_PATH}`,
    command: cliCommandOf(options),
    x402,
  })
  const isPayable = (entry: CatalogEntry) => isPayablePerRequest(callDeps, entry)
  const api = () => ({ baseUrl: baseUrl(), proxyPath: PROXY_PATH, isPayable, x402 })
  const routes: readonly AnyRoute[] = [
    ...healthRoutes(pool, { version, sandbox }, core.draining),
    ...metricsRoutes({ ...options, ...core, ...platformWallets(options) }),
    ...withActivity(createRoutes(pages, options, callDeps, services), pages),
    ...checkpointRoutes(pages),
    ...treeRoutes(pages),
    ...keyDirectoryRoutes(core.requestSigner),
    ...docsRoutes({
      catalog,
      site,
      openapi: (shown) => openApiDocument(routes, shown, api()),
      openapiOf: (audience, shown) => audienceDocument(audience, routes, shown, api()),
      describe: (shown) => serviceDocument(shown, api()),
      isPayable,
      version,
      sandbox,
    }),
  ]
  return createApp({
    ...core,
    ...services,
    routes,
    mcp: createMcp(core, options, callDeps, services),
    web: createWeb(pages, options, services, callDeps, routes, site),
    call: (request) => call(callDeps, request),
    pool,
    admins: options.admins,
    staff: options.staff,
    baseUrl,
    proxies: options.proxies,
    cliCommand: () => cliCommandOf(options),
  })
}
