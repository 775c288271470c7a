import type { Pool } from 'pg'
import type { Discovering } from '../../core/catalog/listings/discovery/discover.ts'
import type { Meaning } from '../../core/catalog/search/meaning/meaning.ts'
import type { Catalog } from '../../core/catalog/services/catalog.ts'
import type { Egress } from '../../core/egress/http.ts'
import { KeyRing } from '../../core/identity/keys.ts'
import type { ResolvePorts } from '../../core/payments/operations/resolve.ts'
import type { createOffers } from '../../core/payments/receiving/offers.ts'
import type { UnderWay } from '../../core/runtime/pending-tasks.ts'
import { Standing } from '../../core/usage/account-status.ts'
import { Allowances } from '../../core/usage/allowances.ts'
import type { CallLog } from '../../core/usage/calls.ts'
import { FreeQuota } from '../../core/usage/free-quota.ts'
import { Idempotency } from '../../core/usage/idempotency.ts'
import { KeptAnswers } from '../../core/usage/kept-answers.ts'
import { Quotes } from '../../core/usage/quotes.ts'
import { RateLimits } from '../../core/usage/rate-limit.ts'
import { Receipts } from '../../core/usage/receipts.ts'
import type { Windows } from '../../core/usage/windows.ts'
import type { Observers } from '../observability/observe.ts'
import { createAuthenticate, createLimitRate } from '../proxy/authenticate.ts'
import type { Steps } from '../proxy/call.ts'
import { createForesee } from '../proxy/dry-run.ts'
import { createFund } from '../proxy/fund.ts'
import { createCredits } from '../proxy/funds/credits.ts'
import { createFreeCalls } from '../proxy/funds/free-calls.ts'
import { createX402 } from '../proxy/funds/x402.ts'
import { createHandle } from '../proxy/handle.ts'
import { createIdempotent } from '../proxy/idempotent.ts'
import { createQuote } from '../proxy/quote.ts'
import { createRecord } from '../proxy/record.ts'
import { createRespond, createStream } from '../proxy/respond.ts'
import { createSettle } from '../proxy/settle.ts'
import { traced } from '../proxy/traced.ts'
import { MIN_PURCHASE } from '../rest/account/credits.ts'
import type { HubOptions } from './hub.ts'

/**
 * Sold for credits alone and trusted to hold them, at the price of a seller outside, who gets all
 * of it.
 */
export const CREDITS_ONLY: ReadonlySet<string> = new Set(['external'])

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
export function registersOf({ pool, windows, meters }: Core, { signingKey, baseUrl }: HubOptions) {
  const standing = new Standing(pool)
  const limits = new RateLimits(windows, (policy) => meters.refused(policy))
  const answers = new KeptAnswers(pool, signingKey.secretFor('kept-answers'))
  const receipts = new Receipts(pool, signingKey, baseUrl)
  return { standing, limits, keys: new KeyRing(pool), answers, receipts, quotes: new Quotes(pool) }
}
export type Registers = ReturnType<typeof registersOf>

/** The steps of a call, joined to core. */
export function stepsOf(core: Core, options: HubOptions, registers: Registers): Steps {
  const { pool, ledger, claims, offers, catalog, calls, underWay, clock, log } = core
  const { standing, limits, keys, answers, receipts, quotes } = registers
  const { holdMarginSeconds } = options
  const record = createRecord(calls, clock)
  const settle = createSettle(record)
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
    fund: createIdempotent(fund, {
      ...holding,
      idempotency,
      receiptOf,
      owed: sources.x402.owed,
      log,
    }),
    handle: createHandle(log, record, CREDITS_ONLY),
    settle,
    respond: createRespond(record, receipts, receiptOf),
    stream: createStream({ record, receipts, settle, underWay, log }),
  })
}
