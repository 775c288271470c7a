import { type KeyObject, sign } from 'node:crypto'
import { Piscina, workerData } from 'piscina'

/** Smallest batch signed in the thread; fewer are done sooner than the thread wakes. */
const THREAD_BATCH_MIN = 4
const IDLE_MS = 60_000

interface PendingSignature {
  readonly bytes: Uint8Array
  readonly resolve: (signature: Buffer) => void
  readonly reject: (error: unknown) => void
}

/** Signs in batches, because a message to the thread costs as much as a small request. */
export class Signer {
  readonly #key: KeyObject
  #pending: PendingSignature[] = []
  #isRunning = false
  #thread: Piscina<readonly string[], readonly string[]> | undefined

  /** @param key an Ed25519 private key */
  constructor(key: KeyObject) {
    this.#key = key
  }

  sign(bytes: Uint8Array): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      this.#pending.push({ bytes, resolve, reject })
      if (this.#isRunning) return
      this.#isRunning = true
      setImmediate(() => void this.#signBatches())
    })
  }

  async #signBatches(): Promise<void> {
    while (this.#pending.length > 0) {
      const batch = this.#pending
      this.#pending = []
      try {
        const signatures = await this.#signAll(batch.map(({ bytes }) => bytes))
        batch.forEach(({ resolve }, i) => resolve(signatures[i]!))
      } catch (error) {
        for (const { reject } of batch) reject(error)
      }
    }
    this.#isRunning = false
  }

  async #signAll(all: readonly Uint8Array[]): Promise<readonly Buffer[]> {
    if (all.length < THREAD_BATCH_MIN) return this.#signInline(all)
    // Latin-1 strings, one character a byte: a view of bytes would copy its whole buffer.
    const texts = all.map((bytes) => latin1(bytes))
    const signed = await this.#signInThread(texts).catch(() => undefined) // fall back to inline
    return signed?.map((text) => Buffer.from(text, 'latin1')) ?? this.#signInline(all)
  }

  async #signInThread(texts: readonly string[]): Promise<readonly string[]> {
    this.#thread ??= this.#startThread()
    return this.#thread.run(texts, { name: 'signTexts' })
  }

  #signInline(all: readonly Uint8Array[]): readonly Buffer[] {
    return all.map((bytes) => sign(null, bytes, this.#key))
  }

  /** Starts a thread that ends when idle and does not keep the process alive. */
  #startThread(): Piscina<readonly string[], readonly string[]> {
    return new Piscina({
      filename: import.meta.url,
      workerData: this.#key,
      minThreads: 0,
      maxThreads: 1,
      idleTimeout: IDLE_MS,
      env: {},
    })
  }
}

/** Runs in the thread: signs Latin-1 texts in Latin-1. @public loaded by Piscina */
export const signTexts = (texts: readonly string[]): readonly string[] =>
  texts.map((text) =>
    sign(null, Buffer.from(text, 'latin1'), workerData as KeyObject).toString('latin1'),
  )

const latin1 = ({ buffer, byteOffset, byteLength }: Uint8Array): string =>
  Buffer.from(buffer, byteOffset, byteLength).toString('latin1')
