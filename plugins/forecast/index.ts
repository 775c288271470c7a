import { defineService, EgressError, Failure, type Host, Refusal, s, usd } from 'agenthub/plugin'

const PUBLIC = 'https://api.openweathermap.org'

/** Example: wraps an HTTP API whose key is the operator's secret `HUB_SECRET_FORECAST_KEY`. */
export default (host: Host) =>
  defineService({
    slug: 'forecast',
    name: 'Weather of a city',
    category: 'data',
    summary: 'The weather of a city as it is now, from OpenWeather.',
    provider: 'example',
    isListed: async () => host.secret('FORECAST_KEY') !== undefined,
    endpoints: {
      'GET /now': {
        summary: 'Sky, temperature and wind.',
        price: usd('0.002'),
        deadlineSeconds: 10,
        input: s.object({ city: s.string({ minLength: 1, maxLength: 100, examples: ['Oslo'] }) }),
        output: s.object({ city: s.string(), sky: s.string(), celsius: s.number() }),
        handle: async ({ input, signal }) => {
          const key = host.secret('FORECAST_KEY')
          if (key === undefined) throw new Failure(503, 'not_configured', 'There is no key for it.')
          const url = new URL('/data/2.5/weather', host.secret('FORECAST_URL') ?? PUBLIC)
          url.search = String(new URLSearchParams({ q: input.city, units: 'metric', appid: key }))
          const { status, body } = await ask(host, url.href, signal)
          if (status === 404) throw new Refusal('unknown_city', `There is no city "${input.city}".`)
          if (status === 429) throw busy()
          if (status !== 200) throw new Failure(502, 'upstream', 'The weather service failed.')
          return weatherOf(body)
        },
      },
    },
  })

/** Requests the upstream. Errors name their kind, never the URL, which contains the key. */
async function ask(host: Host, url: string, signal: AbortSignal) {
  try {
    return await host.http.request({ url, method: 'GET', signal, maxBytes: 65_536 })
  } catch (error) {
    if (error instanceof EgressError) throw new Failure(502, error.code, error.message)
    throw error
  }
}

const busy = (): Failure =>
  new Failure(503, 'upstream_busy', 'The weather service limits our requests.', {
    retryAfterSeconds: 60,
  })

/** Maps the response. A malformed one fails the `output` schema and is refunded. */
function weatherOf(body: Buffer) {
  const { name, weather, main } = JSON.parse(body.toString()) as {
    readonly name: string
    readonly weather: readonly { readonly description: string }[]
    readonly main: { readonly temp: number }
  }
  return { city: name, sky: weather[0]?.description ?? 'unknown', celsius: main.temp }
}
