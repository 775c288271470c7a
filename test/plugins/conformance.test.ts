import { createServer } from 'node:http'
import { type AnyService, defineService, type Plugin, type Route, s, usd } from 'agenthub/plugin'
import { conformance, misbehavingVariants } from 'agenthub/testing'
import { expect } from 'chai'
import { isFamily } from '../../core/catalog/services/declaration.ts'
import { parseSandboxHosts } from '../../core/egress/sandbox.ts'
import { gatewayOf } from '../../plugins/content/service.ts'
import forecast from '../../plugins/forecast/index.ts'
import iban from '../../plugins/iban/index.ts'
import { plugins } from '../../plugins/index.ts'
import primes from '../../plugins/primes/index.ts'
import { injectedHost, serviceOf } from '../support/injected-host.ts'
import { listenOnLoopback } from '../support/loopback.ts'
import { useHub } from '../support/suite.ts'

/** The sandbox magazine as its domain describes it. */
const RULE = {
  pattern: '/**',
  agents: [],
  allow: true,
  price: usd('0.005'),
  cachedPrice: usd('0.005'),
  maxAgeSeconds: 0,
  previewCharacters: 0,
  waitFor: null,
  exclude: [],
  fast: true,
}
const nothing = async () => undefined
const magazine = gatewayOf(
  {
    host: injectedHost,
    domains: {
      note: nothing,
      mayRead: async () => true,
      allowFreeUse: async () => true,
      reportLowConfidence: nothing,
    },
    cache: { find: nothing, read: nothing, store: nothing, doubtfulShare: async () => 0 },
    salesList: {
      list: async () => ({
        data: [],
        next_cursor: null,
        read_at: '2026-11-21T10:00:00Z',
        problem: null,
      }),
    },
  },
  {
    id: 'dom_magazine',
    slug: 'magazine',
    host: 'magazine.test',
    origin: 'http://magazine.test',
    name: 'Magazine',
    summary: 'Articles by the page.',
    provider: 'example',
    example: 'http://magazine.test/articles/bread',
    minPrice: RULE.price,
    maxPrice: RULE.price,
    serviceUrl: 'http://hub.test/proxy/magazine',
    rules: [RULE],
    page: (url) => ({ url, rule: RULE }),
  },
)

/** Examples, sold only if HUB_PLUGINS lists them. */
const examples: readonly Plugin[] = [forecast, iban, primes]
const services: readonly AnyService[] = [
  ...[...plugins, ...examples].map(serviceOf).flatMap((sold) => (isFamily(sold) ? [] : [sold])),
  magazine,
]

/** Inputs for endpoints that reject the simplest input. */
const EXAMPLES: Readonly<Record<string, Readonly<Partial<Record<Route, unknown>>>>> = {
  magazine: {
    'GET /fetch': { url: 'http://magazine.test/articles/bread' },
    'POST /batch': { urls: ['http://magazine.test/articles/bread'] },
  },
  analysis: {
    'POST /analyze': { text: 'Maria Silva paid 30 EUR.', instructions: 'Extract the entities.' },
    'POST /classify': { text: 'The invoice is wrong.', categories: ['billing', 'travel'] },
  },
}

/** A bad service: each endpoint breaks one rule. */
const bad = defineService({
  slug: 'bad',
  name: 'Bad',
  category: 'test',
  summary: 'Breaks its promises.',
  provider: 'example',
  endpoints: {
    'POST /cheaper': {
      summary: 'Charges less than it declares.',
      price: usd('0.001'),
      input: s.object({}),
      handle: ({ charge }) => charge(usd('0.0001')),
    },
    'POST /deaf': {
      summary: 'Does not stop.',
      price: usd('0.001'),
      input: s.object({}),
      handle: ({ signal }) =>
        signal.aborted ? new Promise<never>(() => {}) : Promise.resolve({ ok: true }),
    },
    'POST /strict': {
      summary: 'Has an example that it cannot take.',
      price: usd('0.001'),
      input: { json: { type: 'string', pattern: '^x$' } },
      handle: () => ({ ok: true }),
    },
  },
})

/** Server called by the example of a wrapper. */
const weather = createServer((request, response) => {
  const { searchParams } = new URL(request.url ?? '', 'http://weather.test')
  const isKnown = searchParams.get('appid') === SECRETS.FORECAST_KEY
  const now = { name: 'Oslo', weather: [{ description: 'snow' }], main: { temp: -3.5 } }
  response.writeHead(isKnown ? 200 : 401).end(JSON.stringify(now))
})
const SECRETS = { FORECAST_KEY: 'the key of the operator', FORECAST_URL: 'http://weather.test' }

describe('conformance', () => {
  const hub = useHub(async () => {
    const port = await listenOnLoopback(weather)
    return {
      plugins: [...examples, bad, ...[...services, bad].flatMap(misbehavingVariants)],
      config: {
        sandboxHosts: parseSandboxHosts(`weather.test=127.0.0.1:${port}`),
        secret: (name) => (SECRETS as Record<string, string>)[name],
      },
    }
  })
  after(() => weather.close())
  let client: Awaited<ReturnType<ReturnType<typeof hub>['agent']>>['client']
  before(async () => {
    const agent = await hub().agent()
    await hub().credit(agent.keyId, usd('10'))
    client = agent.client
  })

  for (const service of services) {
    describe(service.slug, () => {
      const examples = EXAMPLES[service.slug] ?? {}
      for (const { name, meet } of conformance(service, { client: () => client, examples })) {
        it(name, meet)
      }
    })
  }

  it('reports the defects of a service', async () => {
    const wrong: string[] = []
    for (const { name, meet } of conformance(bad, { client: () => client })) {
      await meet().catch((error: Error) => wrong.push(`${name}: ${error.message.split(':')[0]}`))
    }
    expect(wrong).to.deep.equal([
      'POST /cheaper: charges exactly its price: charged 100, declared 1000',
      'POST /deaf: stops when the call is aborted: it still runs 2000 ms after the abort',
      'POST /strict: has valid schemas: the example is not a valid input',
      'POST /strict: charges exactly its price: 422 validation_failed',
      'POST /strict: costs nothing when it throws: got 422 validation_failed',
      'POST /strict: costs nothing when it hangs: got 422 validation_failed',
    ])
  })

  it('reports what the catalog would reject', async () => {
    const odd: AnyService = { ...(bad as AnyService), slug: 'Not A Slug' }
    const [first] = conformance(odd, { client: () => client })
    const error = await first?.meet().catch((thrown: unknown) => thrown)
    expect(String(error)).to.include('slug')
  })
})
