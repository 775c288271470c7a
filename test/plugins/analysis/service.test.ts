import { type AnyEndpoint, type AnyService, micros } from 'agenthub/plugin'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { expect } from 'chai'
import analysis from '../../../plugins/analysis/index.ts'
import { serviceOf } from '../../support/injected-host.ts'

const service = serviceOf(analysis) as AnyService
const endpoints = new Map(Object.entries(service.endpoints) as [string, AnyEndpoint][])
const endpointOf = (route: string): AnyEndpoint => endpoints.get(route)!
const ajv = new Ajv2020({ strict: false, formats: { date: true } })
const PRICES = {
  'POST /analyze': 3_000n,
  'POST /classify': 3_000n,
  'POST /extract-entities': 3_000n,
  'POST /sentiment': 2_000n,
} as const
const text = 'Maria Silva loves the new office in Porto. It cost $3 million in 2024.'
const INPUTS = {
  'POST /analyze': { text, instructions: 'Summarize.' },
  'POST /classify': { text, categories: ['business', 'sports'] },
  'POST /extract-entities': { text },
  'POST /sentiment': { text },
} as const

const call = <Input>(input: Input) => ({
  id: 'call-1',
  input,
  terms: undefined,
  signal: AbortSignal.timeout(60_000),
  charge: () => undefined,
  meter: () => true,
  payer: 'agent-1',
})

describe('analysis: the service', () => {
  it('declares its endpoints, prices and free calls', () => {
    expect(service).to.include({
      slug: 'analysis',
      name: 'Analysis',
      category: 'ai',
      provider: 'agenthub',
      freeCallsPerMonth: 15,
    })
    for (const [route, price] of Object.entries(PRICES)) {
      expect(endpointOf(route).price).to.equal(micros(price))
    }
  })

  it('accepts texts up to 50 KB at every endpoint', () => {
    for (const { input } of endpoints.values()) {
      expect(input.json).to.have.nested.property('properties.text.x-maxBytes', 51_200)
      expect(input.json['required']).to.include('text')
    }
  })

  it('returns results from its threads that match the declared outputs', async () => {
    for (const route of Object.keys(PRICES) as (keyof typeof PRICES)[]) {
      const { input, output, handle } = endpointOf(route)
      const answered: unknown = await handle(call(INPUTS[route]))
      expect(ajv.validate(input.json, INPUTS[route]), ajv.errorsText()).to.equal(true)
      expect(ajv.validate(output?.json ?? false, answered), ajv.errorsText()).to.equal(true)
      expect(answered).to.include({ id: 'call-1', offset_unit: 'codepoint' })
    }
  })

  it('passes a refusal from the thread to the caller', async () => {
    const answer = endpointOf('POST /sentiment').handle(call({ text: '  ' }))
    const error: unknown = await Promise.resolve(answer).catch((error: unknown) => error)
    expect(error).to.include({ name: 'Refusal', code: 'empty_text', status: 422 })
  })
})
