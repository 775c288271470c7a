/** Microdollars for a million tokens, and the most that a call may cost. */
export interface Prices {
  readonly input_price: bigint
  readonly output_price: bigint
  readonly max_cost?: bigint | undefined
}

interface Tokens {
  readonly input: number
  readonly output: number
}

const MILLION = 1_000_000n

/** What one call spends with one engine. */
export class Spending {
  readonly #prices: Prices
  readonly #whole: Spending | undefined
  requests = 0
  input = 0
  output = 0
  /** Whether any of it was reckoned, since the server did not count. */
  estimated = false

  constructor(prices: Prices, whole?: Spending) {
    this.#prices = prices
    this.#whole = whole
  }

  /** Microdollars, rounded up. */
  get cost(): bigint {
    return this.#costOf(this)
  }

  /**
   * The part of one piece of so many: it has as large a part of the budget, and counts here too.
   */
  share(pieces: number): Spending {
    const { max_cost: most } = this.#prices
    const own = most === undefined ? undefined : most / BigInt(pieces)
    return new Spending({ ...this.#prices, max_cost: own }, this)
  }

  add(tokens: Tokens, estimated: boolean): void {
    this.requests += 1
    this.input += tokens.input
    this.output += tokens.output
    this.estimated ||= estimated
    this.#whole?.add(tokens, estimated)
  }

  /** Whether so many tokens more stay within what may be spent. */
  covers({ input, output }: Tokens): boolean {
    const { max_cost: most } = this.#prices
    const tokens = { input: this.input + input, output: this.output + output }
    return most === undefined || this.#costOf(tokens) <= most
  }

  #costOf({ input, output }: Tokens): bigint {
    const { input_price: inPrice, output_price: outPrice } = this.#prices
    const exact = BigInt(input) * inPrice + BigInt(output) * outPrice
    return (exact + MILLION - 1n) / MILLION
  }
}

/** Fewest bytes of UTF-8 that a token is reckoned to have: English has about four. */
const BYTES_PER_TOKEN = 3

/** About how many tokens a text has, rather too many than too few. */
export const tokensOf = (text: string): number =>
  Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN)
