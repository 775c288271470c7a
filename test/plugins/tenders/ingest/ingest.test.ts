import { expect } from 'chai'
import { createIngestion } from '../../../../plugins/tenders/ingest/index.ts'
import { openStore } from '../../../../plugins/tenders/store/store.ts'
import { uuidOf } from '../../../support/eforms.ts'
import { injectedHost } from '../../../support/injected-host.ts'
import {
  isNoticePage,
  isPackage,
  isSearch,
  MONDAY,
  neverAborted,
  newest,
  TUESDAY,
  useJournal,
} from './fixture.ts'
import { FAST_SETTINGS, ingestionFrom, issueOf, noticeOf, numbersIn } from './support.ts'

describe('ingestion of the official journal', () => {
  const { given, later } = useJournal()

  it('sends no requests before the operator requests days, and explains how', async () => {
    const { ted, ingestion } = await given([issueOf(MONDAY, '41/2026', 3)])
    const report = await ingestion.sync(neverAborted)
    expect(report).deep.include({ complete: false, days: [] })
    expect(report.advice).include('backfill --days')
    expect(ted.requests).lengthOf(0)
  })

  it('sends no requests without a contact, and reports it', async () => {
    const { ted, database, clock } = await given([issueOf(MONDAY, '41/2026', 3)])
    const ingestion = createIngestion({
      host: { ...injectedHost, clock },
      database,
      store: openStore(database, clock),
    })
    const report = await ingestion.backfill(2, neverAborted)
    expect(report.advice).include('HUB_SECRET_TENDERS_CONTACT')
    expect(ted.requests).lengthOf(0)
  })

  it('reads a day from its package, listed over pages, and closes it when complete', async () => {
    const { ted, database, ingestion, store } = await given([issueOf(MONDAY, '41/2026', 12)])
    const report = await ingestion.backfill(1, neverAborted)
    expect(report.complete).equal(true)
    expect(report.days[0]).deep.include({ state: 'closed', ojs: '41/2026', announced: 12 })
    expect(await numbersIn(database, 'notice'))
      .lengthOf(12)
      .not.include('13-2026')
    expect(await newest(store)).deep.include({ announced: 12, received: 12, ojs: '41/2026' })
    expect(ted.requests.filter(isSearch)).lengthOf(4) // 5, 5, 2, and an empty page
    expect(ted.requests.filter(isPackage)).lengthOf(1)
    expect(ted.requests.filter(isNoticePage)).lengthOf(0)
    expect(new Set(ted.requests.map(({ userAgent }) => userAgent))).deep.equal(
      new Set(['AgentHub-tenders/1.0 (+ops@hub.test)']),
    )
  })

  it('never downloads twice: a second run requests only what is new', async () => {
    const { ted, ingestion, clock, database } = await given([issueOf(MONDAY, '41/2026', 6)])
    await ingestion.backfill(1, neverAborted)
    const before = ted.requests.length
    await ingestion.sync(neverAborted)
    expect(ted.requests).lengthOf(before)
    ted.publish(issueOf(TUESDAY, '42/2026', 5, 50))
    clock.set('2026-03-03T07:00:00Z')
    expect((await ingestion.sync(neverAborted)).complete).equal(true)
    expect(
      ted.requests
        .slice(before)
        .filter(isPackage)
        .map(({ path }) => path),
    ).deep.equal(['/packages/daily/202600042'])
    expect(await numbersIn(database, 'notice')).lengthOf(11)
  })

  it('fetches few notices one by one, each rendered on request, a few at once', async () => {
    const { ted, ingestion, database } = await given([issueOf(MONDAY, '41/2026', 3)], {
      rendering: 3,
    })
    expect((await ingestion.backfill(1, neverAborted)).complete).equal(true)
    expect(ted.requests.filter(isPackage)).lengthOf(0)
    expect(ted.requests.filter(isNoticePage)).lengthOf(12)
    expect(await numbersIn(database, 'notice')).lengthOf(3)
  })

  it('reports what is never rendered, serves the day before, and completes it later', async () => {
    let stuck = true
    const issues = [issueOf(MONDAY, '41/2026', 3), issueOf(TUESDAY, '42/2026', 3, 50)]
    const { ingestion, database, clock, store } = await given(issues, {
      odd: ({ path }) => (stuck && path === '/en/notice/51-2026/xml' ? { status: 202 } : undefined),
    })
    await ingestion.backfill(1, neverAborted)
    clock.set('2026-03-03T12:00:00Z')
    const report = await ingestion.sync(neverAborted)
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
    const later = await ingestion.sync(neverAborted)
    expect(later.days[1]).deep.include({ state: 'closed', problem: null, pending: [] })
    expect(await numbersIn(database, 'notice')).lengthOf(6)
  })

  it('distinguishes a missed day from one without publication by issue numbers', async () => {
    const issues = [issueOf('2026-02-27', '40/2026', 2), issueOf(TUESDAY, '42/2026', 2, 50)]
    const { ingestion, ted, clock, database } = await given(issues)
    clock.set('2026-03-03T12:00:00Z')
    const report = await ingestion.backfill(5, neverAborted)
    expect(report.complete).equal(false)
    expect(report.gaps).deep.equal([{ after: '2026-02-27', before: TUESDAY, issues: 1 }])
    // A weekend may have an issue too, so all days of the gap are uncertain.
    expect(report.days.filter((day) => day.doubtful).map(({ day }) => day)).deep.equal([
      '2026-02-28',
      '2026-03-01',
      MONDAY,
    ])
    ted.publish(issueOf(MONDAY, '41/2026', 2, 20))
    clock.set('2026-03-03T14:00:00Z')
    const later = await ingestion.sync(neverAborted)
    expect(later).deep.include({ complete: true, gaps: [] })
    expect(await numbersIn(database, 'notice')).lengthOf(6)
  })

  it('lists a closed day once more and adds what the search returned late', async () => {
    const issues = [issueOf(MONDAY, '41/2026', 5)]
    const { ingestion, clock, store, database } = await given(issues)
    await ingestion.backfill(1, neverAborted)
    const before = (await newest(store))?.closedAt
    issues[0] = issueOf(MONDAY, '41/2026', 7)
    clock.set('2026-03-03T09:00:00Z')
    await ingestion.sync(neverAborted)
    expect(await numbersIn(database, 'notice')).lengthOf(7)
    expect(await newest(store)).deep.include({ closedAt: before, announced: 7 })
  })

  it('fetches the predecessors of change notices by number or UUID, recursively', async () => {
    const old = { day: '2025-11-03', ojs: '212/2025' }
    const now = { day: MONDAY, ojs: '41/2026' }
    const same = { procedure: uuidOf('9-2025', 'b'), title: 'Fictional heat' }
    const first = noticeOf({ number: '900-2025', ...old, ...same })
    const changing = { changes: '900-2025', deadline: '2026-05-01' }
    const second = noticeOf({ number: '901-2025', ...old, ...same, ...changing })
    const again = { changes: `${uuidOf('901-2025')}-01`, deadline: '2026-06-01' }
    const third = noticeOf({ number: '1-2026', ...now, ...same, ...again })
    const lost = noticeOf({ number: '2-2026', ...now, changes: '777-2024' })
    const { ingestion, database, store, clock } = await given([
      { ...old, notices: [first, second] },
      { ...now, notices: [third, lost] },
    ])
    expect((await ingestion.backfill(1, neverAborted)).complete).equal(true)
    expect(await numbersIn(database, 'notice')).deep.equal([
      '1-2026',
      '2-2026',
      '900-2025',
      '901-2025',
    ])
    expect(await store.missingReferences(9)).deep.equal([
      { reference: '777-2024', attempts: 1, askedAt: clock.now() },
    ])
    const { rows } = await database.query<{ event: string; verification: string }>(
      `SELECT event, verification FROM change JOIN change_item USING (id)
       WHERE item->>'procedure_id' = $1`,
      [uuidOf('9-2025', 'b')],
    )
    expect(rows).deep.equal([
      { event: 'deadline_extended', verification: 'verified' },
      { event: 'deadline_extended', verification: 'verified' },
    ])
  })

  it('lets only one worker send requests', async () => {
    const { ingestion, ted, database, clock } = await given([issueOf(MONDAY, '41/2026', 12)])
    const other = ingestionFrom(ted.port, { database, clock })
    later(other.close)
    await Promise.all([
      ingestion.backfill(1, neverAborted),
      other.ingestion.backfill(1, neverAborted),
    ])
    expect(ted.requests.filter(isPackage)).lengthOf(1)
    expect(ted.requests.filter(isSearch)).lengthOf(4)
  })

  it('stops when aborted, keeps what arrived, and resumes from there', async () => {
    const stopping = new AbortController()
    const settings = { ...FAST_SETTINGS, packageFrom: 99 }
    const { ingestion, ted, database } = await given(
      [issueOf(MONDAY, '41/2026', 6)],
      {
        odd: (_, before) => {
          if (before.filter(isNoticePage).length === 8) stopping.abort()
          return undefined
        },
      },
      settings,
    )
    await ingestion.backfill(1, stopping.signal)
    const held = await numbersIn(database, 'arrival')
    expect(held.length).within(1, 5)
    const requestCount = ted.requests.length
    expect((await ingestion.sync(neverAborted)).complete).equal(true)
    const again = ted.requests.slice(requestCount)
    expect(again.filter(isSearch)).lengthOf(0)
    for (const number of held) expect(again.map(({ path }) => path)).not.include(number)
    expect(await numbersIn(database, 'notice')).lengthOf(6)
  })

  it('stores a notice once if it is announced on two days', async () => {
    const monday = issueOf(MONDAY, '41/2026', 2)
    const tuesday = issueOf(TUESDAY, '42/2026', 2, 50)
    const { ingestion, clock, database, ted } = await given([
      monday,
      { ...tuesday, notices: [...tuesday.notices, monday.notices[0]!] },
    ])
    clock.set('2026-03-03T12:00:00Z')
    expect((await ingestion.backfill(2, neverAborted)).complete).equal(true)
    expect(await numbersIn(database, 'notice')).deep.equal([
      '1-2026',
      '2-2026',
      '50-2026',
      '51-2026',
    ])
    expect(ted.requests.filter(({ path }) => path === '/en/notice/1-2026/xml')).lengthOf(2)
  })
})
