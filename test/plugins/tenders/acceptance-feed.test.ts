import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { answer } from '../../../plugins/tenders/answers/answer.ts'
import type { itemOf } from '../../../plugins/tenders/answers/item.ts'
import { loadFolder } from '../../../plugins/tenders/store/folder.ts'
import { DATA, describeReal, tendersDatabase } from './support.ts'

type Item = ReturnType<typeof itemOf>
interface Answer {
  readonly data: Item[]
  readonly snapshot_as_of: string
  readonly attribution: string
}
interface Brief {
  readonly data: Record<'newly_published' | 'official_changes' | 'closing_within_7_days', Item[]>
}

const TODAY = new Date('2026-11-20T12:00:00Z')
const numbersOf = (items: readonly Item[]) => items.map((item) => item.publication_number).sort()

describeReal('tenders: the feed and the brief over real notices', () => {
  let at: Awaited<ReturnType<typeof tendersDatabase>>
  let loaded: Awaited<ReturnType<typeof loadFolder>>
  before(async () => {
    at = await tendersDatabase()
    loaded = await loadFolder(at.database, { now: () => TODAY }, fileURLToPath(DATA))
  })
  after(async () => {
    await at.close()
  })

  const feed = async (given: Record<string, unknown>, now: string): Promise<Answer> =>
    (await answer(at.database, 'feed', given, new Date(now))) as unknown as Answer
  const brief = async (now: string): Promise<Brief['data']> =>
    ((await answer(at.database, 'brief', {}, new Date(now))) as unknown as Brief).data
  const item = async (number: string, now: string, given = {}): Promise<Item> => {
    const { rows } = await at.database.query<{ kind: string; state: string }>(
      'SELECT kind, state FROM tender WHERE number = $1',
      [number],
    )
    const all = await feed({ kind: rows[0]!.kind, limit: 100, ...given }, now)
    return all.data.find((each) => each.publication_number === number)!
  }

  it('reads all 299 + 135 notices and 13 search hits, and explains why it refuses examples', () => {
    expect(loaded.stored).to.equal(299 + 135 + 13 + 1) // one example says where it was published
    const documents = loaded.refused.filter(({ file }) => file.endsWith('.xml'))
    expect(documents.map(({ reason }) => reason)).to.deep.equal(Array(78).fill('no_number'))
  })

  it('adds nothing when everything is read again', async () => {
    const before = await at.database.query('SELECT id, item::text FROM change_item ORDER BY id')
    const again = await loadFolder(at.database, { now: () => TODAY }, fileURLToPath(DATA))
    expect(again).to.include({ stored: 0, replaced: 0, unchanged: loaded.stored })
    const after = await at.database.query('SELECT id, item::text FROM change_item ORDER BY id')
    expect(after.rows).to.deep.equal(before.rows)
  })

  it('C7 reports each lot, and the legal offset if two differ', async () => {
    const given = { country: 'svk', cpv_prefix: '0931' }
    const found = await item('657639-2023', '2023-11-09T08:00:00Z', given)
    expect(found.cpv_main).to.equal('09000000')
    expect(found.estimated_value).to.include({ amount: '493333.33', source: 'procedure' })
    expect(found.lots.map((l) => [l.lot_id, l.estimated_value?.amount, l.cpv_main])).to.deep.equal([
      ['LOT-0002', '317500', '09310000'],
      ['LOT-0003', '175833.33', '09123000'],
    ])
    expect(found.deadline).to.include({
      at: '2023-11-27T09:00+01:00',
      timezone_conflict: true,
      date_raw: '2023-11-27+01:00',
      time_raw: '09:00:00+02:00',
    })
  })

  it('C8 reports the next of several deadlines and stays open until the last', async () => {
    const before = await item('775926-2023', '2024-01-04T12:00:00Z')
    expect(before).to.include({ next_deadline: '2024-01-05T10:00+01:00', status: 'open' })
    const after = await item('775926-2023', '2024-01-06T12:00:00Z')
    expect(after).to.include({ next_deadline: '2024-01-08T10:00+01:00', status: 'open' })
    expect(after.lots.map(({ status }) => status)).to.deep.equal(['open', 'closed'])
    expect(after).to.include({ country: 'POL', estimated_value: null, modified: true })
  })

  it('C9 evaluates "closes within seven days" at the request’s clock, to the minute', async () => {
    const closing = async (now: string) => numbersOf((await brief(now)).closing_within_7_days)
    expect(await closing('2023-11-09T08:00:00Z')).to.deep.equal(['657565-2023', '657917-2023'])
    expect(await closing('2023-11-10T12:30:00Z')).to.include('657729-2023')
    expect(await closing('2023-11-10T11:30:00Z')).to.not.include('657729-2023')
    const open = await feed({ cpv_prefix: '0931', status: 'open' }, '2023-11-09T08:00:00Z')
    expect(numbersOf(open.data)).to.deep.equal(['657565-2023', '657639-2023', '657917-2023'])
  })

  it('C10 separates what is new in an issue from what it changes', async () => {
    const {
      newly_published: fresh,
      official_changes: changed,
      ...rest
    } = await brief('2023-10-27T12:00:00Z')
    expect(numbersOf(fresh)).to.deep.equal(['657565-2023', '657729-2023', '657917-2023'])
    const sources = JSON.stringify(changed)
    expect(sources).to.include('657639-2023').and.not.include('657790-2023')
    expect(rest).to.include({ date: '2023-10-27', ojs: '208/2023' })
  })

  it('returns only changes of at least the requested score', async () => {
    const changesFrom = async (score: number): Promise<Item[]> => {
      const given = { min_score: score, limit: 100 }
      return ((await answer(at.database, 'changes', given, TODAY)) as unknown as Answer).data
    }
    const [all, high] = [await changesFrom(0), await changesFrom(70)]
    expect(high.length).to.be.within(1, all.length - 1)
    expect(Math.min(...high.map(({ score }) => score))).to.be.at.least(70)
  })

  it('paginates the same order at every page size', async () => {
    const now = '2023-10-20T08:00:00Z'
    const { data: all } = await feed({ limit: 100 }, now)
    expect(all.length).to.be.above(15)
    const key = (each: Item) => [
      (100 - each.score).toFixed(1).padStart(5, '0'),
      each.next_deadline === null ? '9' : new Date(each.next_deadline).toISOString(),
      each.publication_number,
    ]
    const inOrder = all.toSorted((a, b) => (key(a).join() < key(b).join() ? -1 : 1))
    expect(all.map(key)).to.deep.equal(inOrder.map(key))
    for (const limit of [1, 3, 7]) {
      const pages: Item[] = []
      while (pages.length < all.length) {
        pages.push(...(await feed({ limit, offset: pages.length }, now)).data)
      }
      expect(pages, `pages of ${limit}`).to.deep.equal(all)
    }
  })

  it('C12 reports who won, for how much, and where', async () => {
    const found = await item('381837-2023', TODAY.toISOString(), { country: 'EST' })
    expect(found).to.include({ status: 'awarded', country: 'EST' })
    expect(found.buyers).to.have.length(2)
    expect(found.award!.winners).to.deep.equal([{ name: 'Risen Energy Co., Ltd', country: 'CHN' }])
    expect(found.award!.lots[0]).to.deep.include({ tenders: 8 })
    expect(found.award!.total).to.include({ amount: '14653124.64', currency: 'EUR' })
    expect(found.place.countries).to.have.members(['EST', 'POL', 'LVA', 'LTU', 'FIN'])
  })

  it('C13 omits tenders unrelated to energy', async () => {
    for (const number of ['135084-2024', '215499-2024']) {
      const { rows } = await at.database.query<{ score: number }>(
        'SELECT score FROM tender WHERE number = $1',
        [number],
      )
      expect(rows[0]!.score).to.be.below(200)
    }
    const all = await feed({ min_score: 0, status: 'cancelled' }, TODAY.toISOString())
    expect(numbersOf(all.data)).to.not.include('135084-2024')
  })

  it('C15 uses only certain values from the search', async () => {
    const now = '2026-09-10T08:00:00Z'
    const norway = await item('624948-2026', now, { country: 'SWE' })
    expect(norway).to.deep.include({ countries: ['NOR', 'SWE'], partial: true })
    const czech = await item('619343-2026', now, { country: 'CZE' })
    expect(czech.deadline).to.include({ at: null, local: '2026-10-20' })
    expect(czech.estimated_value).to.equal(null)
    const consultation = await item('621800-2026', now, { country: 'FIN' })
    expect(consultation).to.include({ kind: 'consultation', deadline: null, status: 'planned' })
  })

  it('keeps unrelated notices under one procedure id apart', async () => {
    const { rows } = await at.database.query<{ families: number; divisions: number }>(
      `SELECT count(DISTINCT family)::integer AS families,
         count(DISTINCT left(notice #>> '{cpv,main}', 2))::integer AS divisions
       FROM notice WHERE procedure_id LIKE 'aff2863e%'`,
    )
    expect(rows[0]!.families).to.be.at.least(rows[0]!.divisions)
  })

  it('stores and returns no email address, telephone number or contact of a person', async () => {
    const { rows } = await at.database.query<{ text: string }>(
      `SELECT notice::text AS text FROM notice UNION ALL SELECT item::text FROM change_item`,
    )
    const all = rows.map(({ text }) => text).join('\n')
    expect(all).to.not.match(/[\w.+-]+@[\w-]+\.[a-z]{2,}/i)
    expect(all).to.not.include('ANDRY PALU').and.not.include('59069818')
  })
})
