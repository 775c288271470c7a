import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { brotliCompressSync, brotliDecompressSync, constants } from 'node:zlib'

const ROOT = new URL('../', import.meta.url)

/** Writes the results; with `--check` only compares them with the existing files. */
export class Output {
  readonly #isCheck: boolean
  hasChanged = false

  constructor(isCheck: boolean) {
    this.#isCheck = isCheck
  }

  /** Writes an uncompressed file. */
  put(file: string, bytes: Uint8Array): void {
    this.#write(file, bytes, bytes, (old) => old)
  }

  /** Compares contents because compressed bytes differ between versions. */
  pack(file: string, bytes: Uint8Array): void {
    const params = { [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length }
    this.#write(file, bytes, brotliCompressSync(bytes, { params }), brotliDecompressSync)
  }

  /** Reads an existing compressed file. */
  readPacked(file: string): Uint8Array<ArrayBuffer> {
    return new Uint8Array(brotliDecompressSync(readFileSync(new URL(file, ROOT))))
  }

  #write(
    file: string,
    contents: Uint8Array,
    stored: Uint8Array,
    read: (old: Uint8Array) => Uint8Array,
  ): void {
    const url = new URL(file, ROOT)
    const isSame = existsSync(url) && Buffer.compare(read(readFileSync(url)), contents) === 0
    if (!isSame) this.hasChanged = true
    if (!isSame && !this.#isCheck) writeFileSync(url, stored)
    const size = `${contents.length} bytes, ${stored.length} stored`
    process.stdout.write(`${isSame ? 'same   ' : 'changed'} ${file}: ${size}\n`)
  }
}

/** Serializes a value as indented JSON. */
export const jsonBytes = (value: unknown): Uint8Array =>
  Buffer.from(`${JSON.stringify(value, null, 1)}\n`)
