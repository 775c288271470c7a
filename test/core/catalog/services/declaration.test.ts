import { expect } from 'chai'
import { validateService } from '../../../../core/catalog/services/declaration.ts'
import { defineService, s, usd } from '../../../../core/plugin/index.ts'

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
})
