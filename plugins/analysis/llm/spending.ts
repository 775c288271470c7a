/** Prices in microdollars per million tokens, and the maximum cost of a call. */
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

/** Tokens and cost of one call with one engine. */
export class Spending {
  readonly #prices: Prices
  readonly #total: Spending | undefined
  requests = 0
  input = 0
  output = 0
  /** True if any token count is an estimate because the server reported none. */
  estimated = false

  constructor(prices: Prices, whole?: Spending) {
    this.#prices = prices
    this.#total = whole
  }

  /** Microdollars, rounded up. */
  get cost(): bigint {
    return this.#costOf(this)
  }

  /** Share for one of `pieces` chunks: an equal part of the budget; its tokens also count here. */
  share(pieces: number): Spending {
    const { max_cost: most } = this.#prices
    const share = most === undefined ? undefined : most / BigInt(pieces)
    return new Spending({ ...this.#prices, max_cost: share }, this)
  }

  add(tokens: Tokens, estimated: boolean): void {
    this.requests += 1
    this.input += tokens.input
    this.output += tokens.output
    this.estimated ||= estimated
    this.#total?.add(tokens, estimated)
  }

  /** True if this many more tokens stay within the maximum cost. */
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

/** Assumed UTF-8 bytes per token, a low estimate: English averages about four. */
const BYTES_PER_TOKEN = 3

/** Estimates the tokens of a text, rather too many than too few. */
export const tokensOf = (text: string): number =>
  Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN)
