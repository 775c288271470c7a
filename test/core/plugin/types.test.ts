import * as api from 'agenthub/plugin'
import { defineService, type Micros, micros, Refusal, Reply, s, usd } from 'agenthub/plugin'
import { expect } from 'chai'
import { same } from '../../support/types.ts'

const about = { slug: 'x', name: 'X', category: 'x', summary: 'x', provider: 'x' }

describe('the plugin API', () => {
  it('exports exactly these names', () => {
    expect(Object.keys(api).toSorted()).to.deep.equal([
      'EgressError',
      'Failure',
      'Refusal',
      'RenderError',
      'Reply',
      'Taken',
      'Unresolved',
      'defineService',
      'micros',
      'retryAfterSeconds',
      's',
      'singular',
      'unitPrice',
      'usd',
    ])
  })

  it('infers the type of the input, and has its own type for money', () => {
    const service = defineService({
      ...about,
      endpoints: {
        'POST /a': {
          summary: 'a',
          price: usd('1'),
          input: s.object({ text: s.string(), top: s.optional(s.integer()) }),
          handle: ({ input, charge, signal }) => {
            same<typeof input.text, string>(true)
            same<typeof input.top, number | undefined>(true)
            same<Parameters<typeof charge>[0], Micros>(true)
            same<typeof signal, AbortSignal>(true)
            // @ts-expect-error the schema has no such field
            void input.txt
            // @ts-expect-error an input is not to be changed
            void (() => (input.text = ''))
            // @ts-expect-error a plain number is not money
            void (() => charge(1))
            // @ts-expect-error nor is a plain bigint
            void (() => charge(1n))
            return 1
          },
        },
        'GET /b': {
          summary: 'b',
          price: { max: usd('1'), of: (input) => ({ amount: micros(input.count) }) },
          input: s.object({ count: s.integer() }),
          handle: ({ input }) => {
            same<typeof input.count, number>(true)
            if (input.count > 9) throw new Refusal('too_many', 'Ask for at most 9.', { max: 9 })
            return new Reply('text', { headers: { 'Content-Type': 'text/plain' } })
          },
        },
      },
    })
    expect(Object.keys(service.endpoints)).to.deep.equal(['POST /a', 'GET /b'])
  })

  it('rejects invalid declarations at compile time', () => {
    const endpoint = { summary: 'a', input: s.object({}), handle: () => 1 }
    const price = usd('1')
    // @ts-expect-error not a method
    defineService({ ...about, endpoints: { 'FETCH /a': { ...endpoint, price } } })
    // @ts-expect-error not a path
    defineService({ ...about, endpoints: { 'GET a': { ...endpoint, price } } })
    // @ts-expect-error no price
    defineService({ ...about, endpoints: { 'GET /a': endpoint } })
    // @ts-expect-error a price is money, not a number
    defineService({ ...about, endpoints: { 'GET /a': { ...endpoint, price: 1 } } })
    // @ts-expect-error no provider
    defineService({ ...about, provider: undefined, endpoints: {} })
    // @ts-expect-error no such status
    expect(new Refusal('a', 'a', { status: 500 }).status).to.equal(500)
  })

  it('preserves the code, message and extras of a refusal', () => {
    const refusal = new Refusal('empty_text', 'Send some text.', { status: 404, limit: 5 })
    expect(refusal).to.include({ code: 'empty_text', message: 'Send some text.', status: 404 })
    expect(refusal.extras).to.deep.equal({ limit: 5 })
    expect(new Refusal('a', 'b').status).to.equal(422)
  })
})
