import { expect } from 'chai'
import { useHub } from '../../../support/suite.ts'
import {
  type Customer,
  engineOf,
  MODELS,
  openCustomer,
  openModelServer,
  serviceWithEngines,
  type Vendor,
} from './fixture.ts'
import type { ModelServer, Turn } from './model-server.ts'

const VENDORS: readonly Vendor[] = ['chat', 'responses', 'anthropic', 'ollama']
const TEXT = 'Dr. Maria Silva of Acme paid 3 EUR in Porto. Maria Silva likes Porto.'
const NAMED_OUTPUT = {
  entities: [
    { text: 'Maria Silva', type: 'person', confidence: 0.9 },
    { text: 'Acme', type: 'organization', confidence: 0.8 },
    { text: '3 EUR', type: 'amount', confidence: 0.7 },
    { text: 'Porto', type: 'location', confidence: 0.95 },
  ],
}
const FOUND = [
  ['Maria Silva', 'person', 4, 15],
  ['Acme', 'organization', 19, 23],
  ['3 EUR', 'amount', 29, 34],
  ['Porto', 'location', 38, 43],
  ['Maria Silva', 'person', 45, 56],
  ['Porto', 'location', 63, 68],
]
const MISSPELLED = JSON.stringify(NAMED_OUTPUT)
const INVENTED_OUTPUT = {
  entities: [...NAMED_OUTPUT.entities, { text: 'Lisbon', type: 'location', confidence: 1 }],
}
const MOSTLY_INVENTED = {
  entities: ['Lisbon', 'Eve', 'Mallory'].map((text) => ({ text, type: 'person', confidence: 1 })),
}
const INVALID_OUTPUT = { entities: [{ text: 'Acme', type: 'company', confidence: 7 }] }
const RETRY_SOON = { 'retry-after': '0' }

/** Server behaviors that lead to the right result, and the number of requests. */
const SUCCEEDING_TURNS: readonly (readonly [
  what: string,
  turns: readonly Turn[],
  requests: number,
])[] = [
  [
    'JSON in a fence, after thoughts',
    [{ say: `<think>{}</think>\`\`\`json\n${MISSPELLED}\n\`\`\`` }],
    1,
  ],
  [
    'JSON that is not quite',
    [{ say: `Sure: ${MISSPELLED.replaceAll('"confidence"', 'confidence')}` }],
    1,
  ],
  ['no JSON, then JSON', [{ say: 'The entities are many.' }, { say: NAMED_OUTPUT }], 2],
  [
    'JSON of another form, then that asked for',
    [{ say: INVALID_OUTPUT }, { say: NAMED_OUTPUT }],
    2,
  ],
  ['mostly dreams, then the text', [{ say: MOSTLY_INVENTED }, { say: NAMED_OUTPUT }], 2],
  [
    '429 with Retry-After, then an answer',
    [{ status: 429, headers: RETRY_SOON }, { say: NAMED_OUTPUT }],
    2,
  ],
  ['500, then an answer', [{ status: 500 }, { say: NAMED_OUTPUT }], 2],
  ['a broken connection, then an answer', ['cut', { say: NAMED_OUTPUT }], 2],
]

/** Server behaviors that lead to a refund. */
const FAILING_TURNS: readonly (readonly [string, readonly Turn[], number, string, number])[] = [
  [
    'an answer that was cut off',
    [{ say: NAMED_OUTPUT, finish: 'length' }],
    502,
    'engine_bad_output',
    1,
  ],
  ['cut JSON, twice', [{ say: MISSPELLED.slice(0, 2) }], 502, 'engine_bad_output', 2],
  ['JSON of another form, twice', [{ say: INVALID_OUTPUT }], 502, 'engine_bad_output', 2],
  ['nothing but dreams, twice', [{ say: MOSTLY_INVENTED }], 502, 'engine_bad_output', 2],
  ['a key that does not count', [{ status: 401 }], 503, 'engine_unavailable', 1],
  [
    'a server that wants a long rest',
    [{ status: 429, headers: { 'retry-after': '60' } }],
    503,
    'engine_unavailable',
    1,
  ],
]

type Found = { entities: { text: string; type: string; start: number; end: number }[] }
const spansOf = ({ entities }: Found) =>
  entities.map(({ text, type, start, end }) => [text, type, start, end])

describe('analysis: models of four vendors, called through the hub', () => {
  let server: ModelServer
  let desk: Customer
  const hub = useHub(async () => {
    server = await openModelServer()
    const plugins = VENDORS.flatMap((maker) => [
      serviceWithEngines(`an-${maker}`, [engineOf(server, maker, maker, { secret: 'MAKER' })]),
      serviceWithEngines(`hasty-${maker}`, [
        engineOf(server, `hasty-${maker}`, maker, { timeout_seconds: 0.1 }),
      ]),
    ])
    const model = 'claude-3-5-haiku-20241022'
    const older = serviceWithEngines('older', [engineOf(server, 'older', 'anthropic', { model })])
    return { plugins: [...plugins, older], config: { pluginHosts: [server.origin] } }
  })
  before(async () => {
    desk = await openCustomer(hub(), server)
  })
  after(async () => {
    await server.close()
  })
  const extract = (slug: string) => desk.call(slug, '/extract-entities', { text: TEXT })

  for (const maker of VENDORS) {
    describe(maker, () => {
      it('returns spans located by the hub, charged once, with its cost recorded', async () => {
        server.script(maker, { say: NAMED_OUTPUT, tokens: [1_000, 100] })
        const response = await extract(`an-${maker}`)
        expect([response.status, response.paid], response.text).to.deep.equal([200, 3_000n])
        expect(spansOf(response.result)).to.deep.equal(FOUND)
        expect((response.result as Found).entities[2]).to.deep.include({
          subtype: 'money',
          value: { number: 3, currency: 'EUR' },
        })
        expect(response.body['engine']).to.include({
          name: maker,
          model: MODELS[maker],
          deterministic: false,
        })
        expect(response.body['usage']).to.include({ input_tokens: 1_000, output_tokens: 100 })
        expect(await desk.costs(`an-${maker}`)).to.deep.equal([
          { engine: maker, outcome: 'answered', requests: 1, cost_microdollars: '140' },
        ])
      })

      it('sends requests in the vendor’s format: strict schema, key, no randomness', () => {
        const [request] = server.requests(maker)
        expect(request?.path).to.equal(PATHS[maker])
        expect(request?.body).to.deep.include(FIXED[maker])
        const { authorization, 'x-api-key': key } = request?.headers ?? {}
        expect(maker === 'anthropic' ? key : authorization?.slice(7)).to.equal('sk-stub-key-1')
        const schema = SCHEMA[maker](request?.body ?? {})
        expect(schema).to.have.property('additionalProperties', false)
        expect(JSON.stringify(schema)).to.not.match(/minimum|maxItems/)
      })

      for (const [what, turns, requests] of SUCCEEDING_TURNS) {
        it(`returns the right result after ${what}`, async () => {
          server.script(maker, ...turns)
          const response = await extract(`an-${maker}`)
          expect([response.status, response.paid], response.text).to.deep.equal([200, 3_000n])
          expect(spansOf(response.result)).to.deep.equal(FOUND)
          expect(server.requests(maker)).to.have.length(requests)
        })
      }

      it('drops names that are not in the text and reports it', async () => {
        server.script(maker, { say: INVENTED_OUTPUT })
        const response = await extract(`an-${maker}`)
        expect(spansOf(response.result)).to.deep.equal(FOUND)
        expect(response.warnings).to.deep.equal(['ungrounded_dropped'])
      })

      for (const [what, turns, status, reason, requests] of FAILING_TURNS) {
        it(`refunds the call for ${what}`, async () => {
          server.script(maker, ...turns)
          const response = await extract(`an-${maker}`)
          expect([response.status, response.body['reason']], response.text).to.deep.equal([
            status,
            reason,
          ])
          expect([response.paid, response.body['charged_microdollars']]).to.deep.equal([0n, 0])
          expect(response.headers['content-type']).to.match(/^application\/problem\+json/)
          expect(response.body['attempts']).to.have.length(1)
          expect(server.requests(maker)).to.have.length(requests)
        })
      }

      it('refunds the call on a timeout and estimates the tokens sent', async () => {
        const name = `hasty-${maker}`
        server.script(name, 'hang')
        const response = await extract(name)
        expect([response.status, response.body['reason']], response.text).to.deep.equal([
          504,
          'engine_timeout',
        ])
        expect([response.paid, server.requests(name).length]).to.deep.equal([0n, 1])
        const [cost] = await desk.costs(name)
        expect(cost).to.include({ engine: name, outcome: 'timeout', requests: 1 })
      })

      it('refunds the call if the model refuses', async () => {
        server.script(maker, { refuse: 'I cannot help with that.' })
        const { status, body, paid } = await extract(`an-${maker}`)
        const isTold = maker !== 'ollama' // which has no word for it: it looks like a bad answer
        expect([status, body['reason'], paid]).to.deep.equal(
          isTold ? [422, 'engine_refused', 0n] : [502, 'engine_bad_output', 0n],
        )
        const [cost] = await desk.costs(`an-${maker}`)
        expect(cost).to.include({ outcome: isTold ? 'refused' : 'bad_output' })
      })

      it('retries without the schema if the server does not support it', async () => {
        server.script(maker, { status: 400 }, ...(maker === 'chat' ? [{ status: 400 }] : []), {
          say: NAMED_OUTPUT,
        })
        const { status, text, paid } = await extract(`an-${maker}`)
        expect([status, paid], text).to.deep.equal([200, 3_000n])
        const last = server.requests(maker).at(-1)
        expect(last?.raw).to.include('JSON Schema')
        expect(SCHEMA[maker](last?.body ?? {})).to.equal(undefined)
      })
    })
  }

  it('works with an older model that enforces a schema by a tool', async () => {
    server.script('older', { say: NAMED_OUTPUT })
    const response = await extract('older')
    expect([response.status, response.paid], response.text).to.deep.equal([200, 3_000n])
    expect(spansOf(response.result)).to.deep.equal(FOUND)
    const tools = server.requests('older')[0]?.body['tools'] ?? []
    const [tool] = tools as { readonly input_schema: Body }[]
    expect(tool?.input_schema).to.have.property('additionalProperties', false)
  })

  describe('all of them', () => {
    it('never expose their keys to the log or to callers', () => {
      expect(hub().logged()).to.include('engine called').and.not.include('sk-stub-key-1')
    })
  })
})

const PATHS = {
  chat: '/v1/chat/completions',
  responses: '/v1/responses',
  anthropic: '/v1/messages',
  ollama: '/api/chat',
} as const

const FIXED = {
  chat: { temperature: 0, seed: 7, max_tokens: 8_192 },
  responses: { temperature: 0, max_output_tokens: 8_192 },
  anthropic: { max_tokens: 8_192 },
  ollama: {
    stream: false,
    options: { temperature: 0, seed: 7, num_predict: 8_192, num_ctx: 32_768 },
  },
} as const

type Body = Readonly<Record<string, unknown>>
type Formatted = { readonly schema?: Body; readonly json_schema?: { readonly schema?: Body } }
const inside = (body: Body, ...names: readonly string[]): Formatted =>
  names.reduce<unknown>((value, name) => (value as Body | undefined)?.[name], body) as Formatted

/** Position of the schema in each vendor's requests. */
const SCHEMA: Readonly<Record<Vendor, (body: Body) => Body | undefined>> = {
  chat: (body) => inside(body, 'response_format')?.json_schema?.schema,
  responses: (body) => inside(body, 'text', 'format')?.schema,
  anthropic: (body) => inside(body, 'output_config', 'format')?.schema,
  ollama: ({ format }) => (typeof format === 'object' ? (format as Body) : undefined),
}
