import { pipeline, type Readable, Transform, type TransformCallback } from 'node:stream'
import { Failure, type Upstream } from 'agenthub/plugin'
import { spellingsOf } from './spellings.ts'

type Injected = Upstream['injected']

/** A byte string to search for, with its Knuth-Morris-Pratt table. */
interface Needle {
  readonly bytes: Buffer
  readonly fallback: Uint32Array
}

const needleCache = new WeakMap<Injected, readonly Needle[]>()

/** Returns true if a text contains an upstream credential, which callers must not see. */
export const containsSecret = (injected: Injected, text: Buffer | string): boolean =>
  needlesOf(injected).some(({ bytes }) =>
    typeof text === 'string' ? text.includes(String(bytes)) : text.includes(bytes),
  )

/** Holds back bytes that may start a credential. @throws Failure `secret_repeated` in the stream */
export function guardSecrets(source: Readable, injected: Injected): Readable {
  const needles = needlesOf(injected)
  if (needles.length === 0) return source
  return pipeline(source, new SecretGuard(needles), () => undefined) // the reader gets the error
}

class SecretGuard extends Transform {
  readonly #needles: readonly Needle[]
  #held: Buffer = Buffer.alloc(0)

  constructor(needles: readonly Needle[]) {
    super()
    this.#needles = needles
  }

  override _transform(chunk: Buffer, _: string, next: TransformCallback): void {
    const all = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk])
    if (this.#needles.some(({ bytes }) => all.includes(bytes))) {
      next(new Failure(502, 'secret_repeated', 'The response of the provider repeats a secret.'))
      return
    }
    const begun = this.#needles.map((needle) => partialMatchAtEnd(needle, all))
    const end = all.length - Math.max(...begun)
    this.#held = all.subarray(end)
    next(null, all.subarray(0, end))
  }

  override _flush(next: TransformCallback): void {
    next(null, this.#held)
  }
}

/** Returns how many bytes at the end of a text start the needle (Knuth-Morris-Pratt). */
function partialMatchAtEnd({ bytes, fallback }: Needle, text: Buffer): number {
  let length = 0
  for (const byte of text.subarray(Math.max(0, text.length - bytes.length + 1))) {
    while (length > 0 && bytes[length] !== byte) length = fallback[length - 1] ?? 0
    if (bytes[length] === byte) length += 1
  }
  return length
}

function fallbackTable(bytes: Buffer): Uint32Array {
  const fallback = new Uint32Array(bytes.length)
  for (let at = 1, length = 0; at < bytes.length; at++) {
    while (length > 0 && bytes[length] !== bytes[at]) length = fallback[length - 1] ?? 0
    if (bytes[length] === bytes[at]) length += 1
    fallback[at] = length
  }
  return fallback
}

function needlesOf(injected: Injected): readonly Needle[] {
  const before = needleCache.get(injected)
  if (before) return before
  const needles = spellingsOf(textsOf(injected)).map((text) => {
    const bytes = Buffer.from(text)
    return { bytes, fallback: fallbackTable(bytes) }
  })
  needleCache.set(injected, needles)
  return needles
}

/** Lists the parts of credentials that a response may repeat. */
const textsOf = (injected: Injected): readonly string[] =>
  injected.flatMap(({ value }) => {
    const [, scheme = '', bare = value] = /^(\S+) +(\S.*)$/.exec(value) ?? []
    const decoded = /^basic$/i.test(scheme) ? [Buffer.from(bare, 'base64').toString()] : []
    return [value, bare, ...decoded]
  })
