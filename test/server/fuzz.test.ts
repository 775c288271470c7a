import { expect } from 'chai'
import { type Findings, fuzz } from '../fuzz/fuzz.ts'
import { FUZZ_HUB_OPTIONS, fuzzHub } from '../fuzz/hub.ts'
import type { Document } from '../fuzz/response-checker.ts'
import { useHub } from '../support/suite.ts'
import { listen } from './http.ts'

const SEED = 20_261_121

describe('the fuzzer', () => {
  describe('finds what is planted', () => {
    const text = { type: 'string' }
    const answer = { type: 'object', required: ['n'], properties: { n: { type: 'integer' } } }
    const document: Document = {
      paths: {
        '/thing': {
          post: {
            requestBody: {
              content: {
                'application/json': {
                  schema: { type: 'object', required: ['name'], properties: { name: text } },
                },
              },
            },
            responses: {
              200: { content: { 'application/json': { schema: answer } } },
              422: { 'x-codes': ['validation_failed'] },
            },
          },
        },
      },
    }
    type Planted = (name: unknown) => readonly [status: number, body: object]
    const refuse = [422, { code: 'validation_failed' }] as const
    const PLANTED: Readonly<Record<string, readonly [RegExp | undefined, Planted]>> = {
      'nothing if nothing is wrong': [
        undefined,
        (name) => (typeof name === 'string' ? [200, { n: 1 }] : refuse),
      ],
      'a 500': [
        /server error 500/,
        (name) => (typeof name === 'string' ? [200, { n: 1 }] : [500, { code: 'internal_error' }]),
      ],
      'an undocumented status': [
        /undocumented status 409/,
        (name) => (typeof name === 'string' ? [409, { code: 'taken' }] : refuse),
      ],
      'an undocumented code': [
        /undocumented code 422/,
        (name) => (typeof name === 'string' ? [200, { n: 1 }] : [422, { code: 'other' }]),
      ],
      'a response that violates its schema': [
        /schema mismatch/,
        (name) => (typeof name === 'string' ? [200, { n: '1' }] : refuse),
      ],
      'accepted input that the schema forbids': [
        /accepted a request that the schema forbids/,
        (name) => (name === undefined ? refuse : [200, { n: 1 }]),
      ],
    }
    for (const [what, [found, plant]] of Object.entries(PLANTED)) {
      it(what, async () => {
        const server = await listen(async (request, response) => {
          const chunks = await request.toArray()
          const body: unknown = JSON.parse(Buffer.concat(chunks as Buffer[]).toString())
          const isObject = typeof body === 'object' && body !== null && !Array.isArray(body)
          const name = isObject ? (body as Record<string, unknown>)['name'] : undefined
          const [status, problem] = plant(name)
          response.writeHead(status, { 'content-type': 'application/json' })
          response.end(JSON.stringify(problem))
        })
        try {
          const { faults } = await fuzz({
            url: `http://127.0.0.1:${server.port}`,
            document,
            keys: ['key'],
            known: ['x'],
            seed: SEED,
            runs: 100,
            milliseconds: 0,
          })
          if (found) expect(faults.join('\n')).to.match(found)
          else expect(faults).to.deep.equal([])
        } finally {
          await server.close()
        }
      })
    }
  })

  it('asks for nothing but what it says, whatever stands in a path', async () => {
    const paths = new Set<string>()
    const server = await listen((request, response) => {
      paths.add(new URL(request.url!, 'http://x').pathname)
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
    })
    try {
      const operation = { responses: { 200: {} } }
      const { requests } = await fuzz({
        url: `http://127.0.0.1:${server.port}`,
        document: { paths: { '/things/{id}/open': { post: operation } } },
        keys: ['key'],
        known: ['x'],
        seed: SEED,
        runs: 3_000,
        milliseconds: 0,
      })
      expect(requests).to.be.at.least(3_000)
      expect([...paths].filter((path) => !/^\/things\/[^/]+\/open$/.test(path))).to.deep.equal([])
    } finally {
      await server.close()
    }
  })

  describe('of every route of the hub', () => {
    const hub = useHub(FUZZ_HUB_OPTIONS)

    it('finds no 5xx, nothing undocumented, no answer beside its schema', async () => {
      const { faults, requests }: Findings = await fuzzHub(hub(), SEED, 8)
      expect(faults.join('\n')).to.equal('')
      expect(requests).to.be.above(300)
    })
  })
})
