import type { Micros } from '../money.ts'
import type { PayoutRules } from '../payments/payouts/rules.ts'
import { ConfigError } from '../runtime/config-error.ts'
import type { Environment } from './environment.ts'

export interface PayoutConfig {
  /** Minimum payout to a provider. */
  readonly minimum: Micros
  /** Hours before a changed payout address takes effect. */
  readonly cooldownHours: number
  /** The same for a change that an administrator authorized instead of the current wallet. */
  readonly recoveryHours: number
  readonly rules: PayoutRules
}

export interface StaffConfig {
  /** Age of a sign-in up to which staff may change something. */
  readonly freshMinutes: number
  /** Age at which a session of staff ends. */
  readonly sessionHours: number
  /** True if main keys of staff must be as fresh as sign-ins. */
  readonly freshKeys: boolean
}

/** Hours before a first payout with real money; a sandbox pays at once. */
const FIRST_WAIT_HOURS = 72

/** @throws ConfigError if the limits of payouts contradict each other */
export function payoutSettings(e: Environment, isProduction: boolean): PayoutConfig {
  const rules = {
    providerCap: e.HUB_PAYOUT_MAX_PROVIDER_DAY,
    platformCap: e.HUB_PAYOUT_MAX_DAY,
    alone: e.HUB_PAYOUT_ALONE,
    firstHours: e.HUB_PAYOUT_FIRST_WAIT_HOURS ?? (isProduction ? FIRST_WAIT_HOURS : 0),
    creditHours: e.HUB_PAYOUT_CREDIT_WAIT_HOURS,
  }
  if (rules.providerCap < e.HUB_PAYOUT_MIN || rules.platformCap < rules.providerCap) {
    throw new ConfigError(
      'HUB_PAYOUT_MAX_PROVIDER_DAY must be between HUB_PAYOUT_MIN and HUB_PAYOUT_MAX_DAY.',
    )
  }
  return {
    minimum: e.HUB_PAYOUT_MIN,
    cooldownHours: e.HUB_PAYOUT_COOLDOWN_HOURS,
    recoveryHours: e.HUB_PAYOUT_RECOVERY_HOURS,
    rules,
  }
}

export const staffSettings = (e: Environment, isProduction: boolean): StaffConfig => ({
  freshMinutes: e.HUB_FRESH_SIGN_IN_MINUTES,
  sessionHours: e.HUB_STAFF_SESSION_HOURS,
  freshKeys: isProduction,
})
