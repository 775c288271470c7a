const PAGE_BITS = 65_536
const PAGE_BYTES = 8_192

/** Bit set of the dense account ids that an export has declared, with a small JSON. */
export class IdSet {
  readonly #pages: Map<number, Uint8Array>

  constructor(saved: Readonly<Record<string, string>> = {}) {
    const pages = Object.entries(saved)
    this.#pages = new Map(pages.map(([page, bits]) => [Number(page), Buffer.from(bits, 'base64')]))
  }

  has(id: string): boolean {
    const [page, byte, bit] = bitOf(id)
    return ((this.#pages.get(page)?.[byte] ?? 0) & bit) !== 0
  }

  add(id: string): void {
    const [page, byte, bit] = bitOf(id)
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

/** The database numbers accounts from 1000; ids stay far below 2 ** 53. */
function bitOf(id: string): readonly [page: number, byte: number, bit: number] {
  const number = Number(id)
  const position = number % PAGE_BITS
  return [(number - position) / PAGE_BITS, position >> 3, 1 << (position & 7)]
}
