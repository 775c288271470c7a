import { elapsedMs } from '../../clock.ts'
import { type Micros, micros } from '../../money.ts'
import { WEI_PER_ETH } from './gas-wallet.ts'

/** Gas to settle one payment: `transferWithAuthorization` of USDC, with a margin. */
const SETTLEMENT_GAS = 120_000n
/** Lower limit, because a low gas price may rise before a payment is settled. */
export const MINIMUM_SALE_FLOOR = micros(1_000)
const REFRESH_MS = 60_000

/** Gas of a metered payment, which may approve Permit2 first, in settlements of exact payments. */
const METERED_SETTLEMENTS = 2n

/** Least that a metered call costs that has any usage: the gas of its settlement. */
export const minimumUsage = (minimumSale: Micros): Micros =>
  micros(minimumSale * METERED_SETTLEMENTS)

export interface MinimumSaleOptions {
  /** Current gas price of the node, in wei. */
  readonly gasPrice: () => Promise<bigint>
  /** Microdollars per ETH. */
  readonly ethPrice: Micros
  /** Monotonic time in milliseconds. @defaultValue elapsedMs */
  readonly now?: (() => number) | undefined
}

/** Gas cost of settling one payment, rounded up, in microdollars; at least the floor. */
export function minimumSale(gasPrice: bigint, ethPrice: Micros): Micros {
  const cost = (SETTLEMENT_GAS * gasPrice * ethPrice + WEI_PER_ETH - 1n) / WEI_PER_ETH
  return cost > MINIMUM_SALE_FLOOR ? micros(cost) : MINIMUM_SALE_FLOOR
}

/**
 * Returns the minimum price that covers the gas of its settlement. Asks the node for its gas price
 * in the background, once a minute while used; if it fails, the last price stays.
 */
export function trackMinimumSale(options: MinimumSaleOptions): () => Micros {
  const { gasPrice, ethPrice, now = elapsedMs } = options
  let minimum = MINIMUM_SALE_FLOOR
  let refreshAt = now()
  const refresh = async (): Promise<void> => {
    minimum = minimumSale(await gasPrice(), ethPrice)
  }
  return () => {
    if (now() >= refreshAt) {
      refreshAt = now() + REFRESH_MS
      refresh().catch(() => undefined)
    }
    return minimum
  }
}
