import type { Context } from 'koa'

export interface SellerRoute {
  readonly name: string
  readonly description: string
  /** Price in microdollars. */
  readonly price: bigint
  readonly answer: (ctx: Context) => unknown
  /** Input as members of an OpenAPI operation. */
  readonly input: Readonly<Record<string, unknown>>
  readonly output: Readonly<Record<string, unknown>>
}

const BODY_MAX = 10_000

export const ROUTES: Readonly<Record<string, SellerRoute>> = {
  'GET /weather': {
    name: 'Sample weather',
    description: 'The weather of a city. Made up, and always the same.',
    price: 10_000n,
    answer: ({ query }) => weather(String(query['city'] ?? 'Lisbon')),
    input: { parameters: [{ name: 'city', in: 'query', schema: { type: 'string' } }] },
    output: {
      type: 'object',
      properties: {
        city: { type: 'string' },
        sky: { type: 'string' },
        celsius: { type: 'integer' },
      },
    },
  },
  'POST /shout': {
    name: 'Sample shout',
    description: 'Returns your words in capitals.',
    price: 2_000n,
    answer: async (ctx) => ({ shouted: (await readText(ctx)).toUpperCase() }),
    input: { requestBody: { content: { 'text/plain': { schema: { type: 'string' } } } } },
    output: { type: 'object', properties: { shouted: { type: 'string' } } },
  },
}

const SKIES = ['clear', 'cloudy', 'rain', 'wind', 'fog', 'snow']

function weather(city: string) {
  const seed = Buffer.from(city.toLowerCase()).reduce((sum, byte) => sum + byte, 0)
  return { city, sky: SKIES[seed % SKIES.length], celsius: (seed % 35) - 5 }
}

async function readText(ctx: Context): Promise<string> {
  let text = ''
  for await (const chunk of ctx.req.setEncoding('utf8')) {
    text += chunk
    if (text.length > BODY_MAX) ctx.throw(413)
  }
  return text
}
