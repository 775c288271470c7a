const PAGE_BITS = 65_536
const PAGE_BYTES = 8_192

/**
 * A set of accounts by id, at a bit for each: ids are dense, and an export of a million accounts
 * has to remember which of them it has declared. As JSON it is small enough to be saved often.
 */
export class IdSet {
  readonly #pages: Map<number, Uint8Array>

  constructor(saved: Readonly<Record<string, string>> = {}) {
    const pages = Object.entries(saved)
    this.#pages = new Map(pages.map(([page, bits]) => [Number(page), Buffer.from(bits, 'base64')]))
  }

  has(id: string): boolean {
    const [page, byte, bit] = placeOf(id)
    return ((this.#pages.get(page)?.[byte] ?? 0) & bit) !== 0
  }

  add(id: string): void {
    const [page, byte, bit] = placeOf(id)
    const bits = this.#pages.get(page) ?? new Uint8Array(PAGE_BYTES)
    bits[byte] = bits[byte]! | bit
    this.#pages.set(page, bits)
  }

  toJSON(): Record<string, string> {
    return Object.fromEntries(
      [...this.#pages].map(([page, bits]) => [page, Buffer.from(bits).toString('base64')]),
    )
  }
}

/** Ids are counted up from 1000 by the database, and stay far below 2 ** 53. */
function placeOf(id: string): readonly [page: number, byte: number, bit: number] {
  const number = Number(id)
  const within = number % PAGE_BITS
  return [(number - within) / PAGE_BITS, within >> 3, 1 << (within & 7)]
}
