import { expect } from 'chai'
import { validateService } from '../../../../core/catalog/services/declaration.ts'
import { defineService, s, unitPrice, usd } from '../../../../core/plugin/index.ts'

const service = (deadlineSeconds: number) =>
  defineService({
    slug: 'slow',
    name: 'Slow',
    category: 'test',
    summary: 'Takes its time.',
    provider: 'example',
    endpoints: {
      'POST /work': {
        summary: 'Works.',
        price: usd('0.001'),
        deadlineSeconds,
        input: s.object({}),
        handle: async () => ({}),
      },
    },
  })

describe('a declaration', () => {
  it('accepts only deadlines in whole seconds, the unit of the ledger', () => {
    expect(validateService(service(2)).slug).to.equal('slow')
    for (const seconds of [0, 1.5, 301]) {
      expect(() => validateService(service(seconds))).to.throw(/POST \/work → deadlineSeconds/)
    }
  })

  it('that is wrong names the field, and what it should be', () => {
    const [route, endpoint] = ['POST /work', service(2).endpoints['POST /work']] as const
    const faultOf = (endpoints: object, more: object = {}): string => {
      try {
        validateService({ ...service(2), endpoints, ...more } as never)
        return 'none'
      } catch (error) {
        return (error as Error).message
      }
    }
    const amount = "must be an amount, such as usd('0.001'), or { max, of }"
    const schema = 'must be a schema of agenthub/plugin, such as s.object({})'
    const faults: Readonly<Record<string, readonly [string, string]>> = {
      [`${route} → price: ${amount}`]: ['price', '0.001'],
      [`${route} → input: ${schema}`]: ['input', '{"type":"object"}'],
      [`${route} → output: ${schema}`]: ['output', '"text"'],
      [`${route} → handle: must be a function`]: ['handle', '{}'],
    }
    for (const [text, [field, value]] of Object.entries(faults)) {
      const wrong = { [route]: { ...endpoint, [field]: JSON.parse(value) } }
      expect(faultOf(wrong)).to.equal(`service slow: endpoints → ${text}`)
    }
    const of = () => ({ amount: usd('0.001') })
    const reversed = { [route]: { ...endpoint, price: { max: 1n, min: 2n, of } } }
    expect(faultOf(reversed)).to.equal(
      `service slow: endpoints → ${route} → price: the minimum must not exceed the maximum`,
    )
    const metered = { [route]: { ...endpoint, price: { max: 1n, unit: 'tokens', of } } }
    expect(faultOf(metered)).to.equal(
      `service slow: endpoints → ${route} → price: must be unitPrice(amount, units)`,
    )
    const unknown = { unit: 'tokens', min: 1n, of: unitPrice(usd('0.001')) }
    expect(faultOf({ [route]: { ...endpoint, price: { max: usd('0.01'), ...unknown } } })).to.equal(
      `service slow: endpoints → ${route} → price: unknown field min: must be { max, unit, of }`,
    )
    expect(faultOf({ [route]: { ...endpoint, price: { max: 1n, minimum: 1n, of } } })).to.equal(
      `service slow: endpoints → ${route} → price: unknown field minimum: must be { max, min, of }`,
    )
    const { price: _, ...free } = endpoint as object & { price: unknown }
    expect(faultOf({ [route]: free })).to.equal(
      `service slow: endpoints → ${route} → price: ${amount}`,
    )
    expect(faultOf({ 'POST work': endpoint })).to.equal(
      "service slow: endpoints → POST work: must be a method and a path, such as 'POST /count'",
    )
    expect(faultOf({ [route]: endpoint }, { summary: undefined })).to.equal(
      'service slow: summary: is required',
    )
    expect(faultOf({ [route]: endpoint }), 'as it should be').to.equal('none')
  })
})
