import { expect } from 'chai'
import {
  bootstrap,
  deviationOf,
  isExact,
  matchOf,
  scoresOf,
} from '../../../bench/extraction/metric.ts'

describe('the metric of the extraction benchmark', () => {
  it('counts shingles of four words with repetition, as shares of all', () => {
    expect(matchOf('a b c d e', 'a b c d x')).to.deep.equal({
      hit: 1 / 3,
      surplus: 1 / 3,
      missed: 1 / 3,
    })
    expect(matchOf('a b c d', 'a b c d a b c d')).to.deep.equal({
      hit: 1 / 5,
      surplus: 4 / 5,
      missed: 0,
    })
  })

  it('treats a text of fewer than four words as one shingle, and an empty text as none', () => {
    expect(matchOf('a b', 'a b')).to.deep.equal({ hit: 1, surplus: 0, missed: 0 })
    expect(matchOf('a b', 'a b c').hit).to.equal(0)
    expect(matchOf('', '')).to.deep.equal({ hit: 0, surplus: 0, missed: 0 })
  })

  it('averages precision over pages with a result and recall over pages with a text', () => {
    const scores = scoresOf([matchOf('a b c d e', 'a b c d'), matchOf('a b c d', '')])
    expect(scores).to.deep.equal({ f1: (2 * 1 * 0.25) / 1.25, precision: 1, recall: 0.25 })
    expect(scoresOf([])).to.deep.equal({ f1: 0, precision: 0, recall: 0 })
  })

  it('recognizes words of all scripts and ignores everything else', () => {
    expect(isExact('Ein Öl-Fass, 3 Яблока!', 'Ein Öl Fass 3\n«Яблока»')).to.equal(true)
    expect(isExact('one', 'One')).to.equal(false)
  })

  it('samples the same pages for everyone', () => {
    const draw = (): number[] => bootstrap(5, 50, (indices) => indices[0]! * 10 + indices[4]!)
    expect(draw()).to.deep.equal(draw())
    expect(new Set(draw()).size).to.be.above(10)
    expect(deviationOf([1, 3])).to.equal(1)
  })
})
