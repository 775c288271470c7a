import { expect } from 'chai'
import { useHub } from '../../../support/suite.ts'
import type { ModelServer, Turn } from './model-server.ts'
import { type Desk, engineOf, type Maker, MODELS, openDesk, openModelServer, twin } from './sold.ts'

const MAKERS: readonly Maker[] = ['chat', 'responses', 'anthropic', 'ollama']
const TEXT = 'Dr. Maria Silva of Acme paid 3 EUR in Porto. Maria Silva likes Porto.'
const NAMED = {
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
const SPELT = JSON.stringify(NAMED)
const INVENTED = {
  entities: [...NAMED.entities, { text: 'Lisbon', type: 'location', confidence: 1 }],
}
const DREAMT = {
  entities: ['Lisbon', 'Eve', 'Mallory'].map((text) => ({ text, type: 'person', confidence: 1 })),
}
const WRONG = { entities: [{ text: 'Acme', type: 'company', confidence: 7 }] }
const SOON = { 'retry-after': '0' }

/** Turns that end in the right answer, and how many requests they take. */
const RIGHT: readonly (readonly [what: string, turns: readonly Turn[], requests: number])[] = [
  [
    'JSON in a fence, after thoughts',
    [{ say: `<think>{}</think>\`\`\`json\n${SPELT}\n\`\`\`` }],
    1,
  ],
  [
    'JSON that is not quite',
    [{ say: `Sure: ${SPELT.replaceAll('"confidence"', 'confidence')}` }],
    1,
  ],
  ['no JSON, then JSON', [{ say: 'The entities are many.' }, { say: NAMED }], 2],
  ['JSON of another form, then that asked for', [{ say: WRONG }, { say: NAMED }], 2],
  ['mostly dreams, then the text', [{ say: DREAMT }, { say: NAMED }], 2],
  ['429 with Retry-After, then an answer', [{ status: 429, headers: SOON }, { say: NAMED }], 2],
  ['500, then an answer', [{ status: 500 }, { say: NAMED }], 2],
  ['a broken connection, then an answer', ['cut', { say: NAMED }], 2],
]

/** Turns that end in a refund. */
const WRONGS: readonly (readonly [string, readonly Turn[], number, string, number])[] = [
  ['an answer that was cut off', [{ say: NAMED, finish: 'length' }], 502, 'engine_bad_output', 1],
  ['cut JSON, twice', [{ say: SPELT.slice(0, 2) }], 502, 'engine_bad_output', 2],
  ['JSON of another form, twice', [{ say: WRONG }], 502, 'engine_bad_output', 2],
  ['nothing but dreams, twice', [{ say: DREAMT }], 502, 'engine_bad_output', 2],
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

describe('analysis: models of four makers, sold through a hub', () => {
  let server: ModelServer
  let desk: Desk
  const hub = useHub(async () => {
    server = await openModelServer()
    const plugins = MAKERS.flatMap((maker) => [
      twin(`an-${maker}`, [engineOf(server, maker, maker, { secret: 'MAKER' })]),
      twin(`hasty-${maker}`, [engineOf(server, `hasty-${maker}`, maker, { timeout_seconds: 0.1 })]),
    ])
    const model = 'claude-3-5-haiku-20241022'
    const older = twin('older', [engineOf(server, 'older', 'anthropic', { model })])
    return { plugins: [...plugins, older], config: { pluginHosts: [server.origin] } }
  })
  before(async () => {
    desk = await openDesk(hub(), server)
  })
  after(async () => {
    await server.close()
  })
  const extract = (slug: string) => desk.call(slug, '/extract-entities', { text: TEXT })

  for (const maker of MAKERS) {
    describe(maker, () => {
      it('answers with places of the hub’s own; charged once, its cost written down', async () => {
        server.script(maker, { say: NAMED, tokens: [1_000, 100] })
        const told = await extract(`an-${maker}`)
        expect([told.status, told.paid], told.text).to.deep.equal([200, 3_000n])
        expect(spansOf(told.result)).to.deep.equal(FOUND)
        expect((told.result as Found).entities[2]).to.deep.include({
          subtype: 'money',
          value: { number: 3, currency: 'EUR' },
        })
        expect(told.body['engine']).to.include({
          name: maker,
          model: MODELS[maker],
          deterministic: false,
        })
        expect(told.body['usage']).to.include({ input_tokens: 1_000, output_tokens: 100 })
        expect(await desk.costs(`an-${maker}`)).to.deep.equal([
          { engine: maker, outcome: 'answered', requests: 1, cost_microdollars: '140' },
        ])
      })

      it('is asked as its maker’s document has it: a strict schema, the key, no luck', () => {
        const [asked] = server.asked(maker)
        expect(asked?.path).to.equal(PATHS[maker])
        expect(asked?.body).to.deep.include(FIXED[maker])
        const { authorization, 'x-api-key': key } = asked?.headers ?? {}
        expect(maker === 'anthropic' ? key : authorization?.slice(7)).to.equal('sk-stub-key-1')
        const schema = SCHEMA[maker](asked?.body ?? {})
        expect(schema).to.have.property('additionalProperties', false)
        expect(JSON.stringify(schema)).to.not.match(/minimum|maxItems/)
      })

      for (const [what, turns, requests] of RIGHT) {
        it(`comes to the right answer after ${what}`, async () => {
          server.script(maker, ...turns)
          const told = await extract(`an-${maker}`)
          expect([told.status, told.paid], told.text).to.deep.equal([200, 3_000n])
          expect(spansOf(told.result)).to.deep.equal(FOUND)
          expect(server.asked(maker)).to.have.length(requests)
        })
      }

      it('leaves out what the text does not have, and says so', async () => {
        server.script(maker, { say: INVENTED })
        const told = await extract(`an-${maker}`)
        expect(spansOf(told.result)).to.deep.equal(FOUND)
        expect(told.warnings).to.deep.equal(['ungrounded_dropped'])
      })

      for (const [what, turns, status, reason, requests] of WRONGS) {
        it(`gives the money back for ${what}`, async () => {
          server.script(maker, ...turns)
          const told = await extract(`an-${maker}`)
          expect([told.status, told.body['reason']], told.text).to.deep.equal([status, reason])
          expect([told.paid, told.body['charged_microdollars']]).to.deep.equal([0n, 0])
          expect(told.headers['content-type']).to.match(/^application\/problem\+json/)
          expect(told.body['attempts']).to.have.length(1)
          expect(server.asked(maker)).to.have.length(requests)
        })
      }

      it('gives the money back for silence, and reckons what was sent', async () => {
        const name = `hasty-${maker}`
        server.script(name, 'hang')
        const told = await extract(name)
        expect([told.status, told.body['reason']], told.text).to.deep.equal([504, 'engine_timeout'])
        expect([told.paid, server.asked(name).length]).to.deep.equal([0n, 1])
        const [cost] = await desk.costs(name)
        expect(cost).to.include({ engine: name, outcome: 'timeout', requests: 1 })
      })

      it('gives the money back when the model refuses', async () => {
        server.script(maker, { refuse: 'I cannot help with that.' })
        const told = await extract(`an-${maker}`)
        const isTold = maker !== 'ollama' // which has no word for it: it looks like a bad answer
        expect([told.status, told.body['reason'], told.paid]).to.deep.equal(
          isTold ? [422, 'engine_refused', 0n] : [502, 'engine_bad_output', 0n],
        )
        const [cost] = await desk.costs(`an-${maker}`)
        expect(cost).to.include({ outcome: isTold ? 'refused' : 'bad_output' })
      })

      it('asks again without the schema where the server does not know it', async () => {
        server.script(maker, { status: 400 }, ...(maker === 'chat' ? [{ status: 400 }] : []), {
          say: NAMED,
        })
        const told = await extract(`an-${maker}`)
        expect([told.status, told.paid], told.text).to.deep.equal([200, 3_000n])
        const last = server.asked(maker).at(-1)
        expect(last?.raw).to.include('JSON Schema')
        expect(SCHEMA[maker](last?.body ?? {})).to.equal(undefined)
      })
    })
  }

  it('gets the answer of an older model, which is held to a schema by a tool', async () => {
    server.script('older', { say: NAMED })
    const told = await extract('older')
    expect([told.status, told.paid], told.text).to.deep.equal([200, 3_000n])
    expect(spansOf(told.result)).to.deep.equal(FOUND)
    const tools = server.asked('older')[0]?.body['tools'] ?? []
    const [tool] = tools as { readonly input_schema: Body }[]
    expect(tool?.input_schema).to.have.property('additionalProperties', false)
  })

  describe('all of them', () => {
    it('have keys that neither the log nor any caller is told', () => {
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

/** Where each maker has the schema of a request. */
const SCHEMA: Readonly<Record<Maker, (body: Body) => Body | undefined>> = {
  chat: (body) => inside(body, 'response_format')?.json_schema?.schema,
  responses: (body) => inside(body, 'text', 'format')?.schema,
  anthropic: (body) => inside(body, 'output_config', 'format')?.schema,
  ollama: ({ format }) => (typeof format === 'object' ? (format as Body) : undefined),
}
