import { expect } from 'chai'
import * as fc from 'fast-check'
import { SlotQueue, type Ticket } from '../../../core/browser/slot-queue.ts'
import type { RenderParties } from '../../../core/plugin/parts.ts'

const SLOTS = 8
const WAITING_MAX = 64

/** Queue of `SLOTS` slots that records which renders start and which are refused. */
function openQueue() {
  const queue = new SlotQueue(SLOTS)
  const refused: Ticket[] = []
  const add = (parties: RenderParties): Ticket => {
    const ticket: Ticket = {
      parties,
      start: () => undefined,
      refuse: () => void refused.push(ticket),
    }
    queue.add(ticket)
    return ticket
  }
  const takeAll = (): Ticket[] => {
    const taken = queue.take()
    return taken ? [taken, ...takeAll()] : []
  }
  return { queue, refused, add, takeAll }
}

const repeat = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index))

describe('the slots of the browsers', () => {
  it('keep two free when one payer or one site wants all of them', () => {
    for (const parties of [{ payer: 'a' }, { site: 'a' }]) {
      const { add, takeAll } = openQueue()
      repeat(20, () => add({ ...parties, paid: true }))
      expect(takeAll()).to.have.length(6)
      add({ payer: 'c', site: 'c', paid: false })
      const other = add({ payer: 'b', site: 'b', paid: true })
      expect(takeAll()).to.deep.equal([other])
    }
  })

  it('keep half for paid renders, however many unpaid ones wait (A106)', () => {
    const { add, takeAll } = openQueue()
    repeat(60, (n) => add({ payer: `p${n}`, site: `s${n}`, paid: false }))
    expect(takeAll()).to.have.length(4)
    const paid = repeat(4, (n) => add({ payer: `q${n}`, site: `t${n}`, paid: true }))
    expect(takeAll()).to.deep.equal(paid)
  })

  it('go to the party with the fewest open pages, then to the oldest render', () => {
    const { queue, add, takeAll } = openQueue()
    const greedy = repeat(6, () => add({ payer: 'greedy', paid: true }))
    expect(takeAll()).to.deep.equal(greedy)
    const [late, early] = [
      add({ payer: 'greedy', paid: true }),
      add({ payer: 'modest', paid: true }),
    ]
    for (const ticket of greedy.slice(0, 2)) queue.remove(ticket)
    expect(takeAll()).to.deep.equal([early, late])
  })

  it('are one for a site whose pages use up their time, until it delivers one', () => {
    const { queue, add, takeAll } = openQueue()
    const wanted = (): Ticket[] => repeat(4, () => add({ site: 'slow', paid: true }))
    const end = (tickets: Ticket[], timedOut: boolean): void =>
      tickets.forEach((ticket) => {
        queue.record(ticket, timedOut)
        queue.remove(ticket)
      })
    wanted()
    end(takeAll(), true)
    wanted()
    const [probe] = takeAll()
    expect(takeAll(), 'only one at a time').to.deep.equal([])
    end([probe!], false)
    expect(takeAll()).to.have.length(3)
  })

  it('refuse, when too many wait, unpaid renders first, then those of the busiest party', () => {
    const { refused, add } = openQueue()
    repeat(WAITING_MAX / 2, () => add({ payer: 'a', paid: false }))
    repeat(WAITING_MAX / 2, () => add({ payer: 'a', paid: true }))
    repeat(WAITING_MAX / 2, () => add({ payer: 'b', paid: true }))
    expect(refused).to.have.length(WAITING_MAX / 2)
    expect(refused.every(({ parties }) => !parties.paid)).to.equal(true)
    add({ payer: 'a', paid: true })
    add({ payer: 'c', paid: true })
    expect(refused.slice(WAITING_MAX / 2).map(({ parties }) => parties.payer)).to.include('a')
    expect(refused.some(({ parties }) => parties.payer === 'c')).to.equal(false)
  })

  it('go at once to a paid render of a new party if one is free, and to all in the end', () => {
    const party = fc.constantFrom('a', 'b', 'c', 'd')
    const action = fc.oneof(
      fc.record({ payer: party, site: party, paid: fc.boolean() }),
      fc.constant('end' as const),
    )
    fc.assert(
      fc.property(fc.array(action, { maxLength: 200 }), (actions) => {
        const { queue, add } = openQueue()
        const running: Ticket[] = []
        const fill = (): void => {
          while (running.length < SLOTS) {
            const next = queue.take()
            if (!next) return
            running.push(next)
          }
        }
        const end = (): void => {
          const ended = running.shift()
          if (ended) queue.remove(ended)
        }
        for (const each of actions) {
          if (each === 'end') end()
          else add(each)
          fill()
          expect(running.filter(({ parties }) => !parties.paid).length).to.be.at.most(SLOTS / 2)
          expect(queue.length).to.be.at.most(WAITING_MAX)
          if (running.length === SLOTS) continue
          const newcomer = add({ payer: 'new', site: 'new', paid: true })
          expect(queue.take()).to.equal(newcomer)
          queue.remove(newcomer)
        }
        for (let left = running.length + queue.length; left > 0; left--) {
          fill()
          expect(running.length).to.be.above(0)
          end()
        }
        expect(queue.length).to.equal(0)
      }),
      { numRuns: 200 },
    )
  })
})
