import { usd } from '../money.ts'
import type { Environment } from './environment.ts'
import { payoutSettings, staffSettings } from './payouts.ts'

/** Default with real money; a sandbox has none. */
const ROLE_WAIT_HOURS = 24
const SANDBOX_ETH_PRICE = usd('3000')

/** Minimums and maximums of money movements, and rules for those who decide about them. */
export const limitsOf = (e: Environment, isProduction: boolean) => ({
  payouts: payoutSettings(e, isProduction),
  staff: staffSettings(e, isProduction),
  minX402: e.HUB_X402_MIN,
  prepaidAbove: e.HUB_X402_PREPAID_ABOVE,
  outflow: {
    call: e.HUB_PAY_MAX_CALL,
    key: e.HUB_PAY_MAX_KEY_DAY,
    host: e.HUB_PAY_MAX_HOST_DAY,
    platform: e.HUB_PAY_MAX_DAY,
  },
  unresolved: {
    principal: e.HUB_PAY_MAX_UNRESOLVED,
    seller: e.HUB_PAY_MAX_SELLER_UNRESOLVED,
  },
  soloAdjustmentMax: e.HUB_ADJUST_ALONE,
  roleWaitHours: e.HUB_ROLE_WAIT_HOURS ?? (isProduction ? ROLE_WAIT_HOURS : 0),
  roleReviewDays: e.HUB_ROLE_REVIEW_DAYS,
  retention: {
    exports: e.HUB_KEEP_EXPORTS_DAYS,
    webhookEvents: e.HUB_KEEP_WEBHOOK_EVENTS_DAYS,
    probes: e.HUB_KEEP_PROBES_DAYS,
  },
  credits: { expireDays: e.HUB_CREDITS_EXPIRE_DAYS, noticeDays: e.HUB_CREDITS_NOTICE_DAYS },
  gas: {
    ethPrice: e.HUB_ETH_PRICE ?? SANDBOX_ETH_PRICE,
    priceFeed: e.HUB_ETH_PRICE_FEED,
    lowGwei: e.HUB_GAS_LOW_GWEI,
  },
})
