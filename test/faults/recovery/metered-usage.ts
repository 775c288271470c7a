/** Price of one token of the metered services, in microdollars. */
export const TOKEN_MICROS = 7n

/** Tokens that a call of the metered services uses. */
export const tokensOf = (n: number): number => 1 + (n % 100)

/** Microdollars that a call of the metered services costs. */
export const usageOf = (n: number): bigint => TOKEN_MICROS * BigInt(tokensOf(n))
