import { type KeyObject, sign } from 'node:crypto'
import { Piscina } from 'piscina'
import type { Signatures } from './signer-thread.ts'

/** So many at once are worth the wake of a thread; fewer are signed sooner than it wakes. */
const APART_MIN = 4
const IDLE_MS = 60_000

interface Waiting {
  readonly bytes: Uint8Array
  readonly resolve: (signature: Buffer) => void
  readonly reject: (error: unknown) => void
}

/**
 * Signs what is asked for together: while a batch is with the thread, the next one gathers. A
 * signature costs as much as a small request, and so does each message to a thread.
 */
export class Signer {
  readonly #key: KeyObject
  #waiting: Waiting[] = []
  #atWork = false
  #thread: Piscina<readonly string[], Signatures> | undefined

  /** @param key an Ed25519 private key */
  constructor(key: KeyObject) {
    this.#key = key
  }

  sign(bytes: Uint8Array): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ bytes, resolve, reject })
      if (this.#atWork) return
      this.#atWork = true
      setImmediate(() => void this.#work())
    })
  }

  async #work(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting
      this.#waiting = []
      try {
        const signatures = await this.#signed(batch.map(({ bytes }) => bytes))
        batch.forEach(({ resolve }, i) => resolve(signatures[i]!))
      } catch (error) {
        for (const { reject } of batch) reject(error)
      }
    }
    this.#atWork = false
  }

  async #signed(all: readonly Uint8Array[]): Promise<readonly Buffer[]> {
    if (all.length < APART_MIN) return this.#here(all)
    // Text of one byte a character: a view of bytes would take all of its buffer along.
    const texts = all.map((bytes) => latin1(bytes))
    const apart = await this.#apart(texts).catch(() => undefined) // no thread, the same signatures
    return apart?.map((text) => Buffer.from(text, 'latin1')) ?? this.#here(all)
  }

  async #apart(texts: readonly string[]): Promise<Signatures> {
    this.#thread ??= this.#open()
    return this.#thread.run(texts)
  }

  #here(all: readonly Uint8Array[]): readonly Buffer[] {
    return all.map((bytes) => sign(null, bytes, this.#key))
  }

  /** It ends when nothing was to be signed for a while, and keeps no process alive. */
  #open(): Piscina<readonly string[], Signatures> {
    return new Piscina({
      filename: new URL('./signer-thread.ts', import.meta.url).href,
      workerData: this.#key,
      minThreads: 0,
      maxThreads: 1,
      idleTimeout: IDLE_MS,
      env: {},
    })
  }
}

const latin1 = ({ buffer, byteOffset, byteLength }: Uint8Array): string =>
  Buffer.from(buffer, byteOffset, byteLength).toString('latin1')
