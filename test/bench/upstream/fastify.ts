import proxy from '@fastify/http-proxy'
import fastify from 'fastify'

/** Program: `@fastify/http-proxy` peer without payments, set up as in its documentation. */
const [upstream = ''] = process.argv.slice(2)
const app = fastify()
await app.register(proxy, { upstream, prefix: '/proxy/bench' })
process.stdout.write(`ready at ${await app.listen({ port: 0, host: '127.0.0.1' })}\n`)
