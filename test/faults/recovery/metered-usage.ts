import { usd } from '../../../core/money.ts'

/** Price of one token of the metered service. */
export const TOKEN_PRICE = usd('0.000007')

/** Tokens that a call of the metered service uses. */
export const tokensOf = (n: number): number => 1 + (n % 100)

/** Microdollars that a call of the metered service costs. */
export const usageOf = (n: number): bigint => TOKEN_PRICE * BigInt(tokensOf(n))
