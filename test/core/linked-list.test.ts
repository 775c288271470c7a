import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect } from 'chai'
import { LinkedList } from '../../core/linked-list.ts'

describe('LinkedList', () => {
  it('keeps the order in which values were added, whatever is removed between', () => {
    const list = new LinkedList<string>()
    const [a, b, c, d] = ['a', 'b', 'c', 'd'].map((value) => list.add(value))
    list.remove(b!)
    expect(list.values()).to.deep.equal(['a', 'c', 'd'])
    list.remove(a!)
    list.remove(d!)
    list.add('e')
    expect(list.values()).to.deep.equal(['c', 'e'])
    list.remove(c!)
    expect([list.size, ...list.values()]).to.deep.equal([1, 'e'])
  })

  it('removes an entry once', () => {
    const list = new LinkedList<string>()
    const entry = list.add('a')
    list.add('b')
    expect([list.remove(entry), list.remove(entry)]).to.deep.equal([true, false])
    expect([list.size, ...list.values()]).to.deep.equal([1, 'b'])
    expect(entry.isListed).to.equal(false)
  })

  it('keeps no value in memory that was removed, however old the list is', () => {
    const list = new LinkedList<unknown>()
    const added = addedToOldSpace((value) => {
      const entry = list.add(value)
      return () => void list.remove(entry)
    })
    expect(added).to.be.below(BYTES / 50)
  })
})

const AT_ONCE = 256
const VALUES = 15_000
const VALUE_BYTES = 800
const BYTES = VALUES * VALUE_BYTES

/**
 * Returns the bytes of values that collections of young objects move to the space of old ones,
 * while some values at a time are in a collection that is old itself.
 */
function addedToOldSpace(add: (value: unknown) => () => void): number {
  setFlagsFromString('--expose-gc')
  const collect: (options?: object) => void = runInNewContext('gc')
  const removals: (() => void)[] = []
  const run = (count: number): void => {
    for (let i = 0; i < count; i++) {
      const value = Array.from({ length: VALUE_BYTES / 8 }, () => i)
      removals[i % AT_ONCE]?.()
      removals[i % AT_ONCE] = add(value)
    }
  }
  run(2 * AT_ONCE)
  collect()
  collect()
  const before = oldSpaceBytes()
  run(VALUES)
  collect({ type: 'minor' })
  return oldSpaceBytes() - before
}

const oldSpaceBytes = (): number =>
  getHeapSpaceStatistics().find(({ space_name: name }) => name === 'old_space')!.space_used_size
