import { expect } from 'chai'
import * as fc from 'fast-check'
import type { ClassifyTask } from '../../../../plugins/analysis/engine.ts'
import { choose, classifyQuestion, mergeScores } from '../../../../plugins/analysis/llm/classify.ts'

const taskOf = (count: number, more: Partial<ClassifyTask> = {}): ClassifyTask => ({
  categories: Array.from({ length: count }, (_, nth) => ({ name: `c${nth}` })),
  multiLabel: false,
  allowNone: false,
  ...more,
})
const scored = (task: ClassifyTask, scores: object[]) =>
  classifyQuestion('A text.', task).judge({ scores })
const share = fc.double({ min: 0.01, max: 1, noNaN: true })

describe('analysis: categories by a model', () => {
  it('sum to 1 with one label, favor named categories, and one is chosen', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 2, max: 8 }),
        fc.array(share, { minLength: 1, maxLength: 2 }),
        (count, shares) => {
          const task = taskOf(count)
          const given = shares.map((confidence, nth) => ({ category: nth + 1, confidence }))
          const judged = scored(task, given)
          if (!('value' in judged)) throw new Error(judged.issues.join())
          const sum = judged.value.reduce((total, one) => total + one, 0)
          expect(sum).to.be.closeTo(1, 1e-9)
          const named = judged.value.slice(0, given.length)
          expect(Math.min(...named)).to.be.above(Math.max(0, ...judged.value.slice(given.length)))
          expect(choose(judged.value, task).labels).to.have.length(1)
        },
      ),
    )
  })

  it('may be none if none is likely and that is allowed, and several if requested', () => {
    const none = scored(taskOf(3, { allowNone: true }), [{ category: 1, confidence: 0.3 }])
    expect('value' in none && choose(none.value, taskOf(3, { allowNone: true }))).to.deep.include({
      labels: [],
      abstained: true,
    })
    const both = [
      { category: 3, confidence: 0.9 },
      { category: 1, confidence: 0.6 },
    ]
    const several = scored(taskOf(3, { multiLabel: true }), both)
    expect(
      'value' in several && choose(several.value, taskOf(3, { multiLabel: true })),
    ).to.deep.include({
      labels: ['c2', 'c0'],
      abstained: false,
    })
    expect(scored(taskOf(2), [])).to.have.property('issues')
  })

  it('are weighted by the length of each chunk', () => {
    const pieces = [
      { length: 30, scores: [1, 0] },
      { length: 10, scores: [0, 1] },
    ]
    expect(mergeScores(pieces)).to.deep.equal([0.75, 0.25])
  })
})
