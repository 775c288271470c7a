import { createServer, type Server } from 'node:http'

/** OpenAPI document of the API that the README of imported APIs sells. */
const DOCUMENT = JSON.stringify({
  openapi: '3.1.0',
  info: { title: 'Acme Weather', version: '1', description: 'The weather of cities.' },
  security: [{ key: [] }],
  components: { securitySchemes: { key: { type: 'http', scheme: 'bearer' } } },
  paths: {
    '/cities/{city}/weather': {
      get: {
        summary: 'The weather of a city.',
        parameters: [{ name: 'city', in: 'path', required: true, schema: { type: 'string' } }],
        responses: {
          200: {
            description: 'The weather.',
            content: {
              'application/json': {
                schema: { type: 'object', properties: { degrees: { type: 'number' } } },
              },
            },
          },
        },
      },
    },
  },
})

/** Starts the API of somebody who reads the README of imported APIs. */
export function startWeatherApi(): Server {
  const server = createServer((request, response) => {
    response.setHeader('Content-Type', 'application/json')
    response.end(request.url === '/openapi.json' ? DOCUMENT : '{"degrees":7}')
  })
  return server.listen(0, '127.0.0.1')
}
