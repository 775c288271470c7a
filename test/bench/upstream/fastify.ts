import proxy from '@fastify/http-proxy'
import fastify from 'fastify'

/** The peer that does nothing but pass on: `@fastify/http-proxy`, as its documentation shows it. */
const [upstream = ''] = process.argv.slice(2)
const app = fastify()
await app.register(proxy, { upstream, prefix: '/proxy/bench' })
process.stdout.write(`ready at ${await app.listen({ port: 0, host: '127.0.0.1' })}\n`)
