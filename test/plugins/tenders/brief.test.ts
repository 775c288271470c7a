import { expect } from 'chai'
import { systemClock } from '../../../core/clock.ts'
import { answer } from '../../../plugins/tenders/answers/answer.ts'
import { openStore } from '../../../plugins/tenders/store/store.ts'
import { eformsNotice } from '../../support/eforms.ts'
import { tendersDatabase } from './support.ts'

const DAY = '2026-03-02'
const MOST = 100

interface Item {
  readonly id: string
  readonly publication_number: string
  readonly status: string
  readonly next_deadline: string | null
}

interface Brief {
  readonly newly_published: readonly Item[]
  readonly official_changes: readonly Record<'tender_id', string>[]
  readonly counts: Readonly<Record<string, number>>
}

describe('tenders: the daily brief', () => {
  let made: Awaited<ReturnType<typeof tendersDatabase>>
  before(async () => {
    made = await tendersDatabase()
  })
  after(() => made.close())

  const briefAt = async (now: string): Promise<Brief> =>
    ((await answer(made.database, 'brief', {}, new Date(now))) as unknown as { data: Brief }).data

  /** Adds notices and closes the snapshot of the day. */
  const publish = async (from: number, until: number): Promise<void> => {
    const store = openStore(made.database, systemClock)
    const snapshot = await store.openSnapshot({ day: DAY, source: 'live' })
    for (let n = from; n <= until; n += 1) {
      const xml = eformsNotice({ number: `${n}-2026`, day: DAY, ojs: '41/2026' })
      await store.accept({ xml, snapshot })
    }
    await store.closeSnapshot(snapshot)
  }

  it('immediately includes notices that arrive late for a closed day', async () => {
    await publish(1, 2)
    const numbers = async () =>
      (await briefAt(`${DAY}T12:00:00Z`)).newly_published.map((item) => item.publication_number)
    expect(await numbers()).to.have.members(['1-2026', '2-2026'])
    await publish(3, 3)
    expect(await numbers()).to.have.members(['1-2026', '2-2026', '3-2026'])
  })

  it('evaluates its entries at the time of each request', async () => {
    const early = (await briefAt(`${DAY}T12:00:00Z`)).newly_published
    expect(early.map(({ status }) => status)).to.deep.equal(['open', 'open', 'open'])
    const after = new Date(Date.parse(early[0]!.next_deadline!) + 1).toISOString()
    const late = (await briefAt(after)).newly_published
    expect(late.map(({ status }) => status)).to.deep.equal(['closed', 'closed', 'closed'])
    expect(await briefAt(`${DAY}T12:00:00Z`)).to.have.deep.property('newly_published', early)
  })

  it('lists a call first seen with changes of an unnamed notice as new', async () => {
    const store = openStore(made.database, systemClock)
    const snapshot = await store.openSnapshot({ day: DAY, source: 'live' })
    const fiction = { number: '900-2026', day: DAY, ojs: '41/2026', changes: '' }
    await store.accept({ xml: eformsNotice(fiction), snapshot })
    await store.closeSnapshot(snapshot)
    const { newly_published: fresh, official_changes: changed } = await briefAt(`${DAY}T12:00:00Z`)
    expect(fresh.map((item) => item.publication_number)).to.include('900-2026')
    const [change] = changed
    expect(change).to.include({ verification_status: 'declared', tender_status: 'open' })
    expect(fresh.map(({ id }) => id)).to.include(change!.tender_id)
  })

  it('lists at most a hundred entries and counts all', async () => {
    await publish(4, MOST)
    const { newly_published: listed, counts } = await briefAt(`${DAY}T12:00:00Z`)
    expect(listed).to.have.length(MOST)
    expect(counts).to.include({ newly_published: MOST + 1 })
  })
})
