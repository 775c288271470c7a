import { Readable } from 'node:stream'
import { defineService, micros, Reply, s, usd } from 'agenthub/plugin'

const EACH = 10

/** Example: a streaming response, priced by input; an interrupted stream is not charged. */
export default defineService({
  slug: 'primes',
  name: 'Primes',
  category: 'data',
  summary: 'The first prime numbers, one after the other, a line of JSON each.',
  provider: 'example',
  endpoints: {
    'POST /first': {
      summary: 'So many primes from 2 on, 0.00001 USD each, as application/x-ndjson.',
      price: { max: usd('0.1'), of: ({ count }) => ({ amount: micros(count * EACH) }) },
      input: s.object({ count: s.integer({ minimum: 1, maximum: 10_000 }) }),
      streams: true,
      handle: ({ input, signal }) =>
        new Reply(Readable.from(lines(input.count, signal)), {
          headers: { 'Content-Type': 'application/x-ndjson' },
        }),
    },
  },
})

/** Yields lines on demand, so that a long response takes no memory. */
async function* lines(count: number, signal: AbortSignal): AsyncGenerator<string> {
  let nth = 0
  for (const prime of primes()) {
    signal.throwIfAborted()
    nth += 1
    yield `${JSON.stringify({ nth, prime })}\n`
    if (nth === count) return
    if (nth % 100 === 0) await breath() // yield to other requests
  }
}

function* primes(): Generator<number> {
  const found: number[] = []
  for (let candidate = 2; ; candidate += 1) {
    if (isPrime(candidate, found)) {
      found.push(candidate)
      yield candidate
    }
  }
}

function isPrime(candidate: number, smaller: readonly number[]): boolean {
  for (const prime of smaller) {
    if (prime * prime > candidate) return true
    if (candidate % prime === 0) return false
  }
  return true
}

const breath = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
