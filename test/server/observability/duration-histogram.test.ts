import { expect } from 'chai'
import { Histogram, Registry } from 'prom-client'
import { DurationHistogram } from '../../../server/observability/duration-histogram.ts'

const NAME = 'hub_test_seconds'
const HELP = 'Durations of a test.'
const BOUNDS = [0.001, 0.5, 2.5]
const OBSERVED: readonly (readonly [string, number])[] = [
  ['one', 0],
  ['one', 0.001],
  ['two "quoted"', 0.0011],
  ['one', 2.5],
  ['one', 60],
]

describe('DurationHistogram', () => {
  it('reports the same text and values as a histogram of prom-client', async () => {
    const [registry, theirs] = [new Registry(), new Registry()]
    const ours = new DurationHistogram({
      name: NAME,
      help: HELP,
      label: 'step',
      bounds: BOUNDS,
      registry,
    })
    const peer = new Histogram({
      name: NAME,
      help: HELP,
      labelNames: ['step'],
      buckets: BOUNDS,
      registers: [theirs],
    })
    expect(await registry.metrics()).to.equal(await theirs.metrics())
    for (const [step, seconds] of OBSERVED) {
      ours.observe(step, seconds)
      peer.observe({ step }, seconds)
    }
    expect(await registry.metrics()).to.equal(await theirs.metrics())
    expect(await readValues(registry)).to.deep.equal(await readValues(theirs))
  })
})

/** Reads the values as the export and the merge of workers do; prom-client adds exemplars. */
async function readValues(registry: Registry): Promise<unknown> {
  const text = JSON.stringify(await registry.getMetricsAsJSON())
  return JSON.parse(text, (name, value) => (name === 'exemplar' ? undefined : value))
}
