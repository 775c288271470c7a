import { pipeline, type Readable, Transform, type TransformCallback } from 'node:stream'
import { Failure, type Upstream } from 'agenthub/plugin'

type Injected = Upstream['injected']

/** Shorter ones would be found where they are not. */
const SECRET_MIN = 8

/** A text that is looked for, and for each of its prefixes the longest one that ends it. */
interface Needle {
  readonly bytes: Buffer
  readonly falls: Uint32Array
}

const known = new WeakMap<Injected, readonly Needle[]>()

/** Whether a text tells what its owner has the hub add: then nobody else may see it. */
export const tells = (injected: Injected, text: Buffer | string): boolean =>
  needlesOf(injected).some(({ bytes }) =>
    typeof text === 'string' ? text.includes(String(bytes)) : text.includes(bytes),
  )

/**
 * Passes a stream on until it tells a secret; no part of one leaves, wherever its chunks end. What
 * may be the beginning of one waits for what follows.
 * @throws Failure `secret_repeated`, out of the stream
 */
export function watched(source: Readable, injected: Injected): Readable {
  const needles = needlesOf(injected)
  if (needles.length === 0) return source
  return pipeline(source, new Watch(needles), () => undefined) // its reader is told of an error
}

class Watch extends Transform {
  readonly #needles: readonly Needle[]
  #held: Buffer = Buffer.alloc(0)

  constructor(needles: readonly Needle[]) {
    super()
    this.#needles = needles
  }

  override _transform(chunk: Buffer, _: string, next: TransformCallback): void {
    const all = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk])
    if (this.#needles.some(({ bytes }) => all.includes(bytes))) {
      next(new Failure(502, 'secret_repeated', 'The answer of the provider repeats a secret.'))
      return
    }
    const begun = this.#needles.map((needle) => begunAtEnd(needle, all))
    const end = all.length - Math.max(...begun)
    this.#held = all.subarray(end)
    next(null, all.subarray(0, end))
  }

  override _flush(next: TransformCallback): void {
    next(null, this.#held)
  }
}

/** How much of a needle ends a text that has none as a whole (Knuth, Morris, Pratt). */
function begunAtEnd({ bytes, falls }: Needle, text: Buffer): number {
  let length = 0
  for (const byte of text.subarray(Math.max(0, text.length - bytes.length + 1))) {
    while (length > 0 && bytes[length] !== byte) length = falls[length - 1] ?? 0
    if (bytes[length] === byte) length += 1
  }
  return length
}

function fallsOf(bytes: Buffer): Uint32Array {
  const falls = new Uint32Array(bytes.length)
  for (let at = 1, length = 0; at < bytes.length; at++) {
    while (length > 0 && bytes[length] !== bytes[at]) length = falls[length - 1] ?? 0
    if (bytes[length] === bytes[at]) length += 1
    falls[at] = length
  }
  return falls
}

function needlesOf(injected: Injected): readonly Needle[] {
  const before = known.get(injected)
  if (before) return before
  const needles = spellingsOf(injected).map((text) => {
    const bytes = Buffer.from(text)
    return { bytes, falls: fallsOf(bytes) }
  })
  known.set(injected, needles)
  return needles
}

const lowerHex = (text: string): string => text.replaceAll(/%../g, (hex) => hex.toLowerCase())

const unicode = (char: string): string =>
  `\\u${char.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}`

/** As JSON: what every writer escapes, and what PHP (`/`), Go (`&<>`) and .NET escape besides. */
function jsonSpellings(text: string): readonly string[] {
  const json = JSON.stringify(text).slice(1, -1)
  const go = json.replaceAll(/[&<>]/g, (char) => unicode(char).toLowerCase())
  const net = json.replaceAll(/\\.|[&'+<>`]/g, (char) =>
    char === '\\"' ? unicode('"') : char[0] === '\\' ? char : unicode(char),
  )
  return [json, json.replaceAll('/', '\\/'), go, net]
}

/** How secrets may stand in an answer: as they are, in a URL, a form or JSON, and decoded. */
function spellingsOf(injected: Injected): readonly string[] {
  const texts = injected.flatMap(({ value }) => {
    const [, scheme = '', bare = value] = /^(\S+) +(.*)$/.exec(value) ?? []
    const decoded = /^basic$/i.test(scheme) ? [Buffer.from(bare, 'base64').toString()] : []
    return [value, bare, ...decoded].flatMap((text) => {
      const url = encodeURIComponent(text.toWellFormed())
      const form = String(new URLSearchParams([['', text]])).slice(1)
      return [text, url, lowerHex(url), form, lowerHex(form), ...jsonSpellings(text)]
    })
  })
  const found = [...new Set(texts)].filter(({ length }) => length >= SECRET_MIN)
  // Whoever finds the shorter one has found the longer one too.
  return found.filter((text) => !found.some((other) => other !== text && text.includes(other)))
}
