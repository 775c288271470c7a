import type { Pool } from 'pg'
import type { Discovering } from '../core/catalog/discovery/discover.ts'
import type { Meaning } from '../core/catalog/search/meaning/meaning.ts'
import type { Catalog } from '../core/catalog/services.ts'
import type { Egress } from '../core/egress/http.ts'
import { KeyRing } from '../core/identity/keys.ts'
import { USDC_BASE } from '../core/payments/asset.ts'
import type { createOffers } from '../core/payments/offers.ts'
import type { ResolvePorts } from '../core/payments/resolve.ts'
import type { UnderWay } from '../core/under-way.ts'
import { Allowances } from '../core/usage/allowances.ts'
import type { CallLog } from '../core/usage/calls.ts'
import { FreeQuota } from '../core/usage/free-quota.ts'
import { Idempotency } from '../core/usage/idempotency.ts'
import { KeptAnswers } from '../core/usage/kept-answers.ts'
import { Quotes } from '../core/usage/quotes.ts'
import { RateLimits } from '../core/usage/rate-limit.ts'
import { Receipts } from '../core/usage/receipts.ts'
import { Standing } from '../core/usage/standing.ts'
import type { Windows } from '../core/usage/windows.ts'
import { WebhookSigner } from '../core/webhooks/sign.ts'
import { createApp } from './app.ts'
import type { HubOptions } from './hub.ts'
import { canMail, openLinks } from './mail.ts'
import { MCP_PATH, mcpDoor } from './mcp/door.ts'
import { hubTools } from './mcp/tools/index.ts'
import type { Observers } from './observe.ts'
import { createAuthenticate, createLimitRate } from './proxy/authenticate.ts'
import { call, type Steps } from './proxy/call.ts'
import { PROXY_PATH } from './proxy/door.ts'
import { createForesee } from './proxy/foresee.ts'
import { createFund } from './proxy/fund.ts'
import { createCredits } from './proxy/funds/credits.ts'
import { createFreeCalls } from './proxy/funds/free-calls.ts'
import { createX402 } from './proxy/funds/x402.ts'
import { createHandle } from './proxy/handle.ts'
import { createIdempotent } from './proxy/idempotent.ts'
import { createQuote } from './proxy/quote.ts'
import { createRecord } from './proxy/record.ts'
import { createRespond, createStream } from './proxy/respond.ts'
import { settle } from './proxy/settle.ts'
import { traced } from './proxy/traced.ts'
import { accountRoutes } from './rest/account.ts'
import { callRoutes } from './rest/calls.ts'
import { catalogRoutes } from './rest/catalog.ts'
import { creditsRoutes, MIN_PURCHASE } from './rest/credits.ts'
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
import { keyAdminRoutes } from './rest/keys-admin.ts'
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
import { upstreamRoutes } from './upstreams.ts'
import { web } from './web/index.ts'

/**
 * Sold for credits alone and trusted to hold them, at the price of a seller outside, who gets all
 * of it.
 */
export const CREDITS_ONLY: ReadonlySet<string> = new Set(['external'])

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

/** What doors stand on. */
export type Core = Omit<ResolvePorts, 'chain' | 'asset' | 'treasury' | 'finality'> &
  Observers & {
    readonly pool: Pool
    readonly offers: ReturnType<typeof createOffers>
    readonly catalog: Catalog
    readonly calls: CallLog
    readonly underWay: UnderWay
    readonly windows: Windows
    /** The ways out: the guarded one, and that to hosts of the operator's own. */
    readonly egress: Egress
    readonly backends: Egress
    readonly discovery: Discovering
    /** Left out where searches go by words alone. */
    readonly meaning?: Meaning | undefined
    /** What all processes that serve have counted, for Prometheus. */
    readonly counted: () => Promise<string>
  }

/** What several doors ask. */
function registersOf({ pool, windows, meters }: Core, { signingKey, baseUrl }: HubOptions) {
  const standing = new Standing(pool)
  const limits = new RateLimits(windows, (policy) => meters.refused(policy))
  const answers = new KeptAnswers(pool, signingKey.secretFor('kept-answers'))
  const receipts = new Receipts(pool, signingKey, baseUrl)
  return { standing, limits, keys: new KeyRing(pool), answers, receipts, quotes: new Quotes(pool) }
}

/** The steps of a call, joined to core. */
function stepsOf(
  core: Core,
  options: HubOptions,
  registers: ReturnType<typeof registersOf>,
): Steps {
  const { pool, ledger, claims, offers, catalog, calls, underWay, clock, log } = core
  const { standing, limits, keys, answers, receipts, quotes } = registers
  const { holdMarginSeconds } = options
  const record = createRecord(calls, clock)
  const receiptOf = async (call: string) => {
    const made = await calls.find(call)
    return made && receipts.sign(made.record, made.name)
  }
  const idempotency = new Idempotency(pool, answers)
  const ways = {
    offers,
    standing,
    creditsOnly: CREDITS_ONLY,
    minTopUp: MIN_PURCHASE,
    minX402: options.minX402,
  }
  const holding = { ledger, standing, clock, holdMarginSeconds }
  const sources = {
    freeCalls: createFreeCalls({ ...holding, quota: new FreeQuota(ledger) }),
    credits: createCredits({ ...holding, allowances: new Allowances(ledger) }),
    x402: createX402({ ledger, claims, offers, answers, log }),
  }
  const fund = createFund(sources, ways)
  return traced({
    authenticate: createAuthenticate(keys, (slug) => CREDITS_ONLY.has(slug)),
    limitRate: createLimitRate(limits, standing),
    quote: createQuote(catalog, standing, clock, log, CREDITS_ONLY, quotes),
    foresee: createForesee(sources, ways),
    fund: createIdempotent(fund, { idempotency, standing, receiptOf, clock, holdMarginSeconds }),
    handle: createHandle(log, record, CREDITS_ONLY),
    settle,
    respond: createRespond(record, receipts, receiptOf),
    stream: createStream({ record, receipts, settle, underWay, log }),
  })
}

/** The endpoint of MCP: the same steps, and tools. */
function mcpOf(
  core: Core,
  { baseUrl, mcpUrl, mcpOrigins, version }: HubOptions,
  steps: Steps,
  registers: ReturnType<typeof registersOf>,
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
  registers: ReturnType<typeof registersOf>,
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
    ...keyAdminRoutes({ pool, log }),
    ...providerRoutes({
      ...signing,
      clock,
      secret,
      ownWallets: walletsOf(options),
      cooldownHours: options.payouts.cooldownHours,
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
    ...financeRoutes({ pool, clock, log, outflow: options.outflow, ...housekeeping(options) }),
  ]
}

/** What people see in a browser. */
function webOf(
  { pool, clock, log, calls }: Core,
  { money, sandbox, signingKey, mail }: HubOptions,
  { limits, receipts, answers }: ReturnType<typeof registersOf>,
  routes: readonly AnyRoute[],
  site: () => Site,
) {
  return web({
    pool,
    clock,
    log,
    limits,
    calls,
    receipts,
    answers,
    links: canMail(sandbox, mail) ? openLinks(pool, signingKey) : undefined,
    site: { sandbox },
    inside: inside(routes, () => site().baseUrl),
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
