import { expect } from 'chai'
import { array, assert, integer, nat, property, tuple } from 'fast-check'
import { LatencyHistogram } from '../../../core/usage/latencies.ts'

/** Rows of latencies in milliseconds, negative for undelivered calls, and their counts. */
const rows = array(
  array(tuple(integer({ min: -70_000, max: 70_000 }), nat(1_000_000)), {
    minLength: 1,
  }),
)

describe('a histogram of latencies', () => {
  it('adds up the calls of each latency, and those that were not delivered', () => {
    assert(
      property(rows, (all) => {
        const histogram = new LatencyHistogram()
        const calls = new Map<number, number>()
        let undelivered = 0
        for (const row of all) {
          const texts = [row.map(([ms]) => ms).join(' '), row.map(([, count]) => count).join(' ')]
          histogram.add({ ms: texts[0]!, counts: texts[1]! })
          for (const [ms, count] of row) {
            if (ms < 0) undelivered += count
            else calls.set(ms, (calls.get(ms) ?? 0) + count)
          }
        }
        const ms = [...calls.keys()].sort((a, b) => a - b)
        const sorted = { ms, calls: ms.map((each) => calls.get(each)!) }
        expect([histogram.sorted(), histogram.undelivered]).to.deep.equal([sorted, undelivered])
      }),
    )
  })

  it('adds nothing for a row without latencies', () => {
    const histogram = new LatencyHistogram()
    histogram.add({ ms: '', counts: '' })
    expect(histogram.sorted()).to.deep.equal({ ms: [], calls: [] })
  })
})
