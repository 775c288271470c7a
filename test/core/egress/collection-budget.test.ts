import { expect } from 'chai'
import { type Collection, CollectionBudget } from '../../../core/egress/collection-budget.ts'

class Collected implements Collection {
  size = 0
  entry: Collection['entry']
  isAbandoned = false
  readonly #budget: CollectionBudget

  constructor(budget: CollectionBudget) {
    this.#budget = budget
  }

  receive(bytes: number): void {
    this.size += bytes
    this.#budget.add(this, bytes)
  }

  abandon(): void {
    this.isAbandoned = true
    this.end()
  }

  end(): void {
    this.#budget.remove(this)
  }
}

describe('the memory of responses that are being collected', () => {
  it('A146 is limited: the largest one ends, and the others go on', () => {
    const budget = new CollectionBudget(100)
    const [large, small, late] = [1, 2, 3].map(() => new Collected(budget)) as [
      Collected,
      Collected,
      Collected,
    ]
    large.receive(60)
    small.receive(30)
    late.receive(20)
    expect([large, small, late].map(({ isAbandoned }) => isAbandoned)).to.deep.equal([
      true,
      false,
      false,
    ])
    late.receive(50)
    expect(late.isAbandoned, 'exactly the limit').to.equal(false)
    small.end()
    late.receive(30)
    expect(late.isAbandoned, 'after another one has ended').to.equal(false)
    late.receive(1)
    expect(late.isAbandoned, 'even alone').to.equal(true)
  })
})
