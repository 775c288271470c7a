import { expect } from 'chai'
import * as fc from 'fast-check'
import { FairQueue } from '../../../core/ledger/queue.ts'

const ROOM = 1_000

interface Item {
  readonly operation: { readonly owner: bigint; readonly id: string }
}
let made = 0
const item = (owner: number, id = `id-${++made}`): Item => ({
  operation: { owner: BigInt(owner), id },
})
const many = (owner: number, count: number): Item[] =>
  Array.from({ length: count }, () => item(owner))

function queueOf(items: readonly Item[], max = 50_000, ownerMax = 50_000): FairQueue<Item> {
  const queue = new FairQueue<Item>(max, ownerMax)
  for (const each of items) expect(queue.push(each)).to.equal(true)
  return queue
}

function drained(queue: FairQueue<Item>, room: number): Item[][] {
  const batches = []
  while (queue.size > 0) batches.push(queue.take(room))
  return batches
}

describe('the queue of a shard', () => {
  it('returns all items in the order of arrival if they fit', () => {
    const items = [item(1), item(2), ...many(1, 500), item(3)]
    expect(queueOf(items).take(ROOM)).to.deep.equal(items)
  })

  it('lets a flood on one account delay nobody else', () => {
    const others = Array.from({ length: 400 }, (_, owner) => item(owner + 2))
    const queue = queueOf([...many(1, 20_000), ...others])
    const batch = queue.take(ROOM)
    expect(batch).to.have.length(ROOM)
    expect(batch).to.include.members(others)
  })

  it('shares a batch equally among floods', () => {
    const queue = queueOf([1, 2, 3].flatMap((owner) => many(owner, 5_000)))
    const counts = [1, 2, 3].map((owner) => (batch: Item[]) => {
      return batch.filter(({ operation }) => operation.owner === BigInt(owner)).length
    })
    const first = queue.take(ROOM)
    expect(counts.map((count) => count(first))).to.deep.equal([334, 333, 333])
  })

  it('starves nobody behind more floods than fit in a batch', () => {
    const floods = Array.from({ length: 30 }, (_, owner) => many(owner, 100)).flat()
    const queue = queueOf(floods)
    const late = item(99)
    queue.take(20)
    queue.push(late)
    expect([queue.take(20), queue.take(20)].flat()).to.include(late)
  })

  it('refuses items above the limit of one owner without affecting others', () => {
    const queue = queueOf(many(1, 20), 50, 20)
    expect(queue.push(item(1))).to.equal(false)
    for (const other of [...many(2, 20), ...many(3, 10)]) expect(queue.push(other)).to.equal(true)
    expect(queue.push(item(4)), 'above the bound of all').to.equal(false)
    queue.take(ROOM)
    expect(queue.push(item(1)), 'when there is room again').to.equal(true)
  })

  it('never puts an id into a batch twice', () => {
    const [a, b, c] = [item(1, 'same'), item(1, 'same'), item(1)]
    expect(drained(queueOf([a, b, c]), ROOM)).to.deep.equal([[a, c], [b]])
  })

  it('returns each item once, in order for each owner, in full batches', () => {
    const owners = fc.array(fc.nat(6), { minLength: 1, maxLength: 300 })
    const story = fc.property(owners, fc.integer({ min: 1, max: 40 }), (arrivals, room) => {
      const items = arrivals.map((owner) => item(owner))
      const batches = drained(queueOf(items), room)
      expect(batches.map((batch) => batch.length)).to.deep.equal(fullBatches(items.length, room))
      for (const batch of batches) {
        expect(batch).to.deep.equal(items.filter((each) => batch.includes(each)))
      }
      for (const owner of new Set(arrivals)) {
        const own = ({ operation }: Item): boolean => operation.owner === BigInt(owner)
        expect(batches.flat().filter(own)).to.deep.equal(items.filter(own))
        expect(inTime(batches, own, new Set(arrivals).size, room)).to.equal(true)
      }
    })
    fc.assert(story, { numRuns: 200 })
  })
})

const fullBatches = (count: number, room: number): number[] => {
  const rest = count % room
  return [...Array<number>((count - rest) / room).fill(room), ...(rest > 0 ? [rest] : [])]
}

/** Checks that an owner waits at most until all owners got as many items as it queued. */
function inTime(
  batches: readonly Item[][],
  own: (each: Item) => boolean,
  owners: number,
  room: number,
): boolean {
  const wanted = batches.flat().filter(own).length
  const last = batches.findLastIndex((batch) => batch.some(own))
  return last * room < wanted * owners + room
}
