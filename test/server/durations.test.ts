import { expect } from 'chai'
import { AggregatorRegistry, Histogram, Registry } from 'prom-client'
import { Durations } from '../../server/durations.ts'

const about = { name: 'hub_step_seconds', help: 'Steps of requests.' }
const BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]
const SECONDS = [0, 0.001, 0.0011, 0.7, 1, 60, 61]

describe('durations', () => {
  it('read as a histogram of prom-client reads, of one process and of several', async () => {
    const [ours, theirs] = [new Registry(), new Registry()]
    const durations = new Durations({ ...about, label: 'step' })
    ours.registerMetric(durations.metric)
    const known = { ...about, labelNames: ['step'], buckets: BUCKETS, registers: [theirs] }
    const histogram = new Histogram(known)
    expect(await ours.metrics(), 'of nothing').to.equal(await theirs.metrics())
    for (const step of ['fund', 'a "b"\n']) {
      for (const seconds of SECONDS) {
        durations.observe(step, seconds)
        histogram.observe({ step }, seconds)
      }
    }
    expect(await ours.metrics()).to.equal(await theirs.metrics())
    expect(await twice(ours)).to.equal(await twice(theirs))
  })
})

/** What two processes that counted the same have counted together. */
async function twice(registry: Registry): Promise<string> {
  const counted = await registry.getMetricsAsJSON()
  return AggregatorRegistry.aggregate([counted, structuredClone(counted)]).metrics()
}
