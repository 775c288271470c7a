import { expect } from 'chai'
import nock from 'nock'
import { createIngestion } from '../../../../plugins/tenders/ingest/index.ts'
import { openStore } from '../../../../plugins/tenders/store/store.ts'
import { uuidOf } from '../../../support/eforms.ts'
import { lent } from '../../../support/lent.ts'
import {
  type Asked,
  type Behaviour,
  type Issue,
  type Odd,
  packageOf,
  startTed,
  type TedServer,
} from '../../../support/ted-server.ts'
import { tendersDatabase } from '../support.ts'
import { clockAt, emptied, ingestionFrom, issueOf, noticeOf, numbersIn, QUICK } from './support.ts'

const NOW = '2026-03-02T12:00:00Z'
const MONDAY = '2026-03-02'
const TUESDAY = '2026-03-03'
const never = new AbortController().signal

const isSearch = ({ path }: Asked): boolean => path === '/v3/notices/search'
const isPackage = ({ path }: Asked): boolean => path.startsWith('/packages/')
const isLook = ({ path }: Asked): boolean => path.startsWith('/en/notice/')
const HTML: Odd = { body: '<!doctype html><html><body>Maintenance</body></html>' }

describe('ingestion of the official journal', () => {
  // Under nock the guarded way out would never be asked.
  before(() => nock.restore())
  after(() => nock.activate())
  let made: Awaited<ReturnType<typeof tendersDatabase>>
  before(async () => {
    made = await tendersDatabase()
  })
  after(() => made.close())
  const open: (() => Promise<unknown>)[] = []
  afterEach(async () => {
    for (const close of open.splice(0).reverse()) await close()
  })

  /** A journal, an empty database, and ingestion between them. */
  async function given(issues: Issue[], behaviour: Behaviour = {}, settings = QUICK) {
    const ted: TedServer = await startTed(issues, behaviour)
    open.push(() => ted.close())
    const { database } = made
    await emptied(database)
    const clock = clockAt(NOW)
    const store = openStore(database, clock)
    const { ingestion, close } = ingestionFrom(ted.port, { database, clock, settings })
    open.push(close)
    return { ted, database, clock, store, ingestion }
  }
  const newest = async (store: ReturnType<typeof openStore>) => (await store.snapshots(1))[0]

  it('asks nobody before the operator wants days, and says how to', async () => {
    const { ted, ingestion } = await given([issueOf(MONDAY, '41/2026', 3)])
    const report = await ingestion.sync(never)
    expect(report).deep.include({ complete: false, days: [] })
    expect(report.advice).include('backfill --days')
    expect(ted.asked).lengthOf(0)
  })

  it('asks nobody without a contact, and says so', async () => {
    const { ted, database, clock } = await given([issueOf(MONDAY, '41/2026', 3)])
    const ingestion = createIngestion({
      host: { ...lent, clock },
      database,
      store: openStore(database, clock),
    })
    const report = await ingestion.backfill(2, never)
    expect(report.advice).include('HUB_SECRET_TENDERS_CONTACT')
    expect(ted.asked).lengthOf(0)
  })

  it('reads a day by its package, over pages of the search, and closes it when it is whole', async () => {
    const { ted, database, ingestion, store } = await given([issueOf(MONDAY, '41/2026', 12)])
    const report = await ingestion.backfill(1, never)
    expect(report.complete).equal(true)
    expect(report.days[0]).deep.include({ state: 'closed', ojs: '41/2026', announced: 12 })
    expect(await numbersIn(database, 'notice'))
      .lengthOf(12)
      .not.include('13-2026')
    expect(await newest(store)).deep.include({ announced: 12, received: 12, ojs: '41/2026' })
    expect(ted.asked.filter(isSearch)).lengthOf(4) // 5, 5, 2, and an empty page
    expect(ted.asked.filter(isPackage)).lengthOf(1)
    expect(ted.asked.filter(isLook)).lengthOf(0)
    expect(new Set(ted.asked.map(({ userAgent }) => userAgent))).deep.equal(
      new Set(['AgentHub-tenders/1.0 (+ops@hub.test)']),
    )
  })

  it('asks for nothing twice: a second run has only what is new', async () => {
    const { ted, ingestion, clock, database } = await given([issueOf(MONDAY, '41/2026', 6)])
    await ingestion.backfill(1, never)
    const before = ted.asked.length
    await ingestion.sync(never)
    expect(ted.asked).lengthOf(before)
    ted.publish(issueOf(TUESDAY, '42/2026', 5, 50))
    clock.set('2026-03-03T07:00:00Z')
    expect((await ingestion.sync(never)).complete).equal(true)
    expect(
      ted.asked
        .slice(before)
        .filter(isPackage)
        .map(({ path }) => path),
    ).deep.equal(['/packages/daily/202600042'])
    expect(await numbersIn(database, 'notice')).lengthOf(11)
  })

  it('fetches few notices one by one, each rendered when asked for, a few at once', async () => {
    const { ted, ingestion, database } = await given([issueOf(MONDAY, '41/2026', 3)], {
      rendering: 3,
    })
    expect((await ingestion.backfill(1, never)).complete).equal(true)
    expect(ted.asked.filter(isPackage)).lengthOf(0)
    expect(ted.asked.filter(isLook)).lengthOf(12)
    expect(await numbersIn(database, 'notice')).lengthOf(3)
  })

  it('waits for a document that had come to be ready and has gone again', async () => {
    let looks = 0
    const { ingestion, database } = await given([issueOf(MONDAY, '41/2026', 1)], {
      // Ready at the third look, which is lost; forgotten, and rendered anew.
      odd: (asked) => (isLook(asked) && ++looks === 3 ? { status: 202 } : undefined),
      rendering: 2,
    })
    expect((await ingestion.backfill(1, never)).complete).equal(true)
    expect(looks).above(3)
    expect(await numbersIn(database, 'notice')).deep.equal(['1-2026'])
  })

  it('says which documents are never rendered, serves the day before, and ends it later', async () => {
    let stuck = true
    const issues = [issueOf(MONDAY, '41/2026', 3), issueOf(TUESDAY, '42/2026', 3, 50)]
    const { ingestion, database, clock, store } = await given(issues, {
      odd: ({ path }) => (stuck && path === '/en/notice/51-2026/xml' ? { status: 202 } : undefined),
    })
    await ingestion.backfill(1, never)
    clock.set('2026-03-03T12:00:00Z')
    const report = await ingestion.sync(never)
    expect(report.days.map(({ state }) => state)).deep.equal(['closed', 'fetching'])
    expect(report.days[1]?.pending).deep.equal([
      {
        number: '51-2026',
        problem: 'not_rendered: the journal has not rendered the document in time',
      },
    ])
    expect(report.days[1]?.problem).include('1 of 3 notices are missing')
    expect(await numbersIn(database, 'notice')).deep.equal(['1-2026', '2-2026', '3-2026'])
    expect((await newest(store))?.closedAt).equal(null)
    stuck = false
    clock.set('2026-03-04T05:00:00Z')
    const later = await ingestion.sync(never)
    expect(later.days[1]).deep.include({ state: 'closed', problem: null, pending: [] })
    expect(await numbersIn(database, 'notice')).lengthOf(6)
  })

  it('begins a listing again whose total changes, and says so when it never holds', async () => {
    const issues = [issueOf(MONDAY, '41/2026', 8)]
    const growing = await given(issues, {
      odd: (asked, before) => {
        if (!isSearch(asked) || before.some(({ body }) => body.includes('iterationNextToken'))) {
          return undefined
        }
        if (asked.body.includes('iterationNextToken')) issues[0] = issueOf(MONDAY, '41/2026', 9)
        return undefined
      },
    })
    expect((await growing.ingestion.backfill(1, never)).days[0]).deep.include({
      state: 'closed',
      announced: 9,
    })
    let count = 8
    const endless = await given([issueOf(MONDAY, '41/2026', 8)], {
      odd: (asked) =>
        isSearch(asked)
          ? { body: JSON.stringify({ notices: [], totalNoticeCount: ++count, timedOut: false }) }
          : undefined,
    })
    const { days } = await endless.ingestion.backfill(1, never)
    expect(days[0]?.state).equal('listing')
    expect(days[0]?.problem).match(/^contradiction: /)
  })

  it('begins a listing again when its token is not known any more', async () => {
    const { ingestion, ted } = await given([issueOf(MONDAY, '41/2026', 12)], {
      odd: (asked, before) =>
        isSearch(asked) && before.filter(isSearch).length === 2 ? { status: 500 } : undefined,
    })
    expect((await ingestion.backfill(1, never)).days[0]?.announced).equal(12)
    expect(ted.asked.filter(isSearch)).lengthOf(7)
  })

  it('waits as long as it is told to by 429, and sends again what was lost', async () => {
    const { ingestion, ted } = await given([issueOf(MONDAY, '41/2026', 6)], {
      odd: (asked, before) => {
        if (before.length === 0) return { status: 429, headers: { 'retry-after': '1' } }
        if (before.length === 2) return { status: 503 }
        return isPackage(asked) && !before.some(isPackage) ? { cutAt: 0, body: 'x' } : undefined
      },
    })
    expect((await ingestion.backfill(1, never)).complete).equal(true)
    expect(ted.asked[1]!.at - ted.asked[0]!.at).least(990)
  })

  it('keeps quiet, over runs and processes, when it is shut out or told to wait for long', async () => {
    for (const odd of [{ status: 403 }, { status: 429, headers: { 'retry-after': '3600' } }]) {
      let isShut = true
      const { ingestion, ted, clock } = await given([issueOf(MONDAY, '41/2026', 6)], {
        odd: () => (isShut ? odd : undefined),
      })
      const report = await ingestion.backfill(1, never)
      expect(report.days[0]?.problem).include(`blocked: status ${odd.status}`)
      expect(report.busyUntil).deep.equal(new Date('2026-03-02T13:00:00Z'))
      isShut = false
      await ingestion.sync(never)
      expect(ted.asked).lengthOf(1)
      clock.set('2026-03-02T13:00:01Z')
      expect((await ingestion.sync(never)).complete).equal(true)
    }
  })

  it('never sends more often than its pace', async () => {
    const settings = { ...QUICK, paceMs: 40, packageFrom: 99 }
    const { ingestion, ted } = await given([issueOf(MONDAY, '41/2026', 4)], {}, settings)
    await ingestion.backfill(1, never)
    const gaps = ted.asked.slice(1).map(({ at }, n) => at - ted.asked[n]!.at)
    // A request takes some of its turn on the way; the one after it is not hurried for it.
    expect(gaps.reduce((sum, gap) => sum + gap, 0)).least(gaps.length * 40 - 20)
  })

  it('gets from their own addresses what a package has not, cut off, damaged or missing', async () => {
    const issue = issueOf(MONDAY, '41/2026', 6)
    const whole = await packageOf(issue)
    const damaged = await packageOf({
      ...issue,
      notices: issue.notices.map((notice, at) =>
        at === 2 ? { ...notice, xml: notice.xml.slice(0, -40) } : notice,
      ),
    })
    const ways: readonly (readonly [Odd, number])[] = [
      [{ body: whole, cutAt: 200 }, 6],
      [{ body: whole.subarray(0, 500) }, 6],
      [{ status: 404 }, 6],
      [HTML, 6],
      [{ body: damaged }, 1],
      [{ body: await packageOf({ ...issue, day: TUESDAY }) }, 6],
    ]
    for (const [odd, alone] of ways) {
      const { ingestion, ted, database } = await given([issue], {
        odd: (asked) => (isPackage(asked) ? odd : undefined),
      })
      expect((await ingestion.backfill(1, never)).complete).equal(true)
      expect(await numbersIn(database, 'notice')).lengthOf(6)
      expect(new Set(ted.asked.filter(isLook).map(({ path }) => path)).size).equal(alone)
    }
  })

  it('closes a day with a document that cannot be read, and shows it', async () => {
    const issue = issueOf(MONDAY, '41/2026', 3)
    const [first, ...rest] = issue.notices
    const broken = { ...first!, xml: first!.xml.replace('</ContractNotice>', '') }
    const { ingestion, database } = await given([{ ...issue, notices: [broken, ...rest] }])
    const { days } = await ingestion.backfill(1, never)
    expect(days[0]).deep.include({ state: 'closed', pending: [] })
    expect(days[0]?.refused.map(({ number }) => number)).deep.equal(['1-2026'])
    expect(await numbersIn(database, 'notice')).deep.equal(['2-2026', '3-2026'])
  })

  it('takes no page of HTML for a notice', async () => {
    const { ingestion, database } = await given([issueOf(MONDAY, '41/2026', 2)], {
      odd: (asked, before) =>
        isLook(asked) && before.filter(isLook).length < 4 ? HTML : undefined,
    })
    expect((await ingestion.backfill(1, never)).days[0]).deep.include({ refused: [] })
    expect(await numbersIn(database, 'notice')).lengthOf(2)
    const { rows } = await database.query('SELECT FROM refusal')
    expect(rows).lengthOf(0)
  })

  it('tells a missed day from one without publication by the numbers of the issues', async () => {
    const issues = [issueOf('2026-02-27', '40/2026', 2), issueOf(TUESDAY, '42/2026', 2, 50)]
    const { ingestion, ted, clock, database } = await given(issues)
    clock.set('2026-03-03T12:00:00Z')
    const report = await ingestion.backfill(5, never)
    expect(report.complete).equal(false)
    expect(report.gaps).deep.equal([{ after: '2026-02-27', before: TUESDAY, issues: 1 }])
    // A weekend may hold an issue too, so all days of the gap are in doubt.
    expect(report.days.filter((day) => day.doubtful).map(({ day }) => day)).deep.equal([
      '2026-02-28',
      '2026-03-01',
      MONDAY,
    ])
    ted.publish(issueOf(MONDAY, '41/2026', 2, 20))
    clock.set('2026-03-03T14:00:00Z')
    const later = await ingestion.sync(never)
    expect(later).deep.include({ complete: true, gaps: [] })
    expect(await numbersIn(database, 'notice')).lengthOf(6)
  })

  it('lists a closed day once more, and takes what the search was late with', async () => {
    const issues = [issueOf(MONDAY, '41/2026', 5)]
    const { ingestion, clock, store, database } = await given(issues)
    await ingestion.backfill(1, never)
    const before = (await newest(store))?.closedAt
    issues[0] = issueOf(MONDAY, '41/2026', 7)
    clock.set('2026-03-03T09:00:00Z')
    await ingestion.sync(never)
    expect(await numbersIn(database, 'notice')).lengthOf(7)
    expect(await newest(store)).deep.include({ closedAt: before, announced: 7 })
  })

  it('brings the notices that are changed, by number and by UUID, and what those change', async () => {
    const title = 'Fictional heat'
    const old = { day: '2025-11-03', ojs: '212/2025' }
    const first = noticeOf({ number: '900-2025', ...old, procedure: uuidOf('9-2025', 'b'), title })
    const second = noticeOf({
      ...{ number: '901-2025', ...old, procedure: uuidOf('9-2025', 'b'), title },
      ...{ changes: '900-2025', deadline: '2026-05-01' },
    })
    const third = noticeOf({
      ...{ number: '1-2026', day: MONDAY, ojs: '41/2026', procedure: uuidOf('9-2025', 'b'), title },
      ...{ changes: `${uuidOf('901-2025')}-01`, deadline: '2026-06-01' },
    })
    const lost = noticeOf({
      ...{ number: '2-2026', day: MONDAY, ojs: '41/2026', changes: '777-2024' },
    })
    const { ingestion, database, store, clock } = await given([
      { ...old, notices: [first, second] },
      { day: MONDAY, ojs: '41/2026', notices: [third, lost] },
    ])
    expect((await ingestion.backfill(1, never)).complete).equal(true)
    expect(await numbersIn(database, 'notice')).deep.equal([
      ...['1-2026', '2-2026', '900-2025', '901-2025'],
    ])
    expect(await store.wanted(9)).deep.equal([
      { reference: '777-2024', byNumber: '2-2026', attempts: 1, askedAt: clock.now() },
    ])
    const { rows } = await database.query<{ event: string; verification: string }>(
      `SELECT event, verification FROM change WHERE item->>'procedure_id' = $1`,
      [uuidOf('9-2025', 'b')],
    )
    expect(rows).deep.equal([
      { event: 'deadline_extended', verification: 'verified' },
      { event: 'deadline_extended', verification: 'verified' },
    ])
  })

  it('lets one worker ask, whoever else wants to', async () => {
    const { ingestion, ted, database, clock } = await given([issueOf(MONDAY, '41/2026', 12)])
    const other = ingestionFrom(ted.port, { database, clock })
    open.push(other.close)
    await Promise.all([ingestion.backfill(1, never), other.ingestion.backfill(1, never)])
    expect(ted.asked.filter(isPackage)).lengthOf(1)
    expect(ted.asked.filter(isSearch)).lengthOf(4)
  })

  it('stops when it is told to, keeps what came, and goes on from there', async () => {
    const stopping = new AbortController()
    const settings = { ...QUICK, packageFrom: 99 }
    const { ingestion, ted, database } = await given(
      [issueOf(MONDAY, '41/2026', 6)],
      {
        odd: (_, before) => {
          if (before.filter(isLook).length === 8) stopping.abort()
          return undefined
        },
      },
      settings,
    )
    await ingestion.backfill(1, stopping.signal)
    const held = await numbersIn(database, 'arrival')
    expect(held.length).within(1, 5)
    const asked = ted.asked.length
    expect((await ingestion.sync(never)).complete).equal(true)
    const again = ted.asked.slice(asked)
    expect(again.filter(isSearch)).lengthOf(0)
    for (const number of held) expect(again.map(({ path }) => path)).not.include(number)
    expect(await numbersIn(database, 'notice')).lengthOf(6)
  })

  it('takes a notice that is announced on two days once', async () => {
    const monday = issueOf(MONDAY, '41/2026', 2)
    const tuesday = issueOf(TUESDAY, '42/2026', 2, 50)
    const { ingestion, clock, database, ted } = await given([
      monday,
      { ...tuesday, notices: [...tuesday.notices, monday.notices[0]!] },
    ])
    clock.set('2026-03-03T12:00:00Z')
    expect((await ingestion.backfill(2, never)).complete).equal(true)
    expect(await numbersIn(database, 'notice')).deep.equal([
      '1-2026',
      '2-2026',
      '50-2026',
      '51-2026',
    ])
    expect(ted.asked.filter(({ path }) => path === '/en/notice/1-2026/xml')).lengthOf(2)
  })
})
