import { Readable } from 'node:stream'
import { defineService, Reply, s } from 'agenthub/plugin'
import { sleep } from '../../../core/clock.ts'
import { STORED_BYTES_MAX } from '../../../core/usage/stored-responses.ts'
import { PRICE } from '../../stories/counted-service.ts'

const none = s.object({})
const endpoint = <T>(input: s.Schema<T>, handle: (call: { input: T }) => unknown) => ({
  summary: 'Answers.',
  price: PRICE,
  input,
  handle,
})
const streaming = (handle: () => unknown) => ({ ...endpoint(none, handle), streams: true })
const withType = (body: unknown, type: string, status = 200) =>
  new Reply(body, { status, headers: { 'Content-Type': type } })

async function* breaking(): AsyncGenerator<Buffer> {
  yield Buffer.from('the begin')
  await sleep(50)
  throw new Error('the line is dead')
}

/** Problem (RFC 9457) of the service, not of the hub. */
const PROBLEM = { type: 'about:blank', title: 'Too dull' }

/** Bytes that no tool can return, as two halves. */
const HALF = Buffer.alloc(STORED_BYTES_MAX, 0xff)
/** Times that such bytes were made for a payment. */
export const unreadable = { done: 0 }

/** Hook that runs before the price is computed, and a count of finished calls. */
export const priced = { before: async () => {}, done: 0 }

/** Service with every form of response. */
export const responseForms = defineService({
  slug: 'various',
  name: 'Various',
  category: 'test',
  summary: 'Answers in every form.',
  provider: 'example',
  endpoints: {
    'POST /long': endpoint(s.object({ chars: s.integer() }), ({ input }) =>
      withType(Buffer.from('x'.repeat(input.chars)), 'text/plain'),
    ),
    'POST /refusing': endpoint(none, () => withType({ why: 'tea' }, 'application/json', 418)),
    'POST /charging': endpoint(
      none,
      () => new Reply({ why: 'no such page' }, { status: 404, isCharged: true }),
    ),
    'POST /prepaid': {
      ...streaming(() => withType(Readable.from(breaking()), 'text/plain')),
      prepaid: true,
    },
    'GET /dull': endpoint(none, () => withType(PROBLEM, 'application/problem+json', 422)),
    'GET /dull-fact': endpoint(none, () => withType(PROBLEM, 'application/problem+json')),
    'GET /text': endpoint(none, () => withType(Buffer.from('Grüße'), 'text/plain')),
    'GET /bytes': endpoint(none, () => withType(Buffer.from([0x89, 0xff, 0, 1]), 'image/png')),
    'GET /many-bytes': endpoint(none, () =>
      withType(Buffer.alloc(STORED_BYTES_MAX + 1, 0xff), 'image/png'),
    ),
    'GET /long-stream': streaming(() => {
      const half = Buffer.alloc(STORED_BYTES_MAX, 'x')
      return withType(Readable.from([half, half]), 'text/plain')
    }),
    'GET /many-bytes-stream': streaming(() => withType(Readable.from([HALF, HALF]), 'image/png')),
    'POST /prepaid-bytes': {
      ...endpoint(none, () => {
        unreadable.done++
        return withType(Buffer.concat([HALF, HALF]), 'image/png')
      }),
      prepaid: true,
    },
    'POST /prepaid-bytes-stream': streaming(() => {
      unreadable.done++
      return withType(Readable.from([HALF, HALF]), 'image/png')
    }),
    'GET /stream': streaming(() =>
      withType(Readable.from([Buffer.from('{"a"'), Buffer.from(':1}')]), 'application/json'),
    ),
    'GET /broken': streaming(() => withType(Readable.from(breaking()), 'text/plain')),
    'POST /priced': {
      summary: 'Takes its time to find its price.',
      price: { max: PRICE, of: () => priced.before().then(() => ({ amount: PRICE })) },
      input: none,
      handle: () => ({ done: ++priced.done }),
    },
    'GET /sum': endpoint(s.object({ a: s.integer(), b: s.integer() }), ({ input }) => ({
      sum: input.a + input.b,
    })),
  },
})
