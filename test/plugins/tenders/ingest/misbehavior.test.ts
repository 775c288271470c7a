import { expect } from 'chai'
import { type Odd, packageOf } from '../../../support/ted-server.ts'
import {
  isNoticePage,
  isPackage,
  isSearch,
  MONDAY,
  neverAborted,
  TUESDAY,
  useJournal,
} from './fixture.ts'
import { FAST_SETTINGS, issueOf, numbersIn } from './support.ts'

const HTML: Odd = { body: '<!doctype html><html><body>Maintenance</body></html>' }

describe('ingestion from a journal that misbehaves', () => {
  const { given } = useJournal()

  it('waits for a document that was ready and disappeared', async () => {
    let looks = 0
    const { ingestion, database } = await given([issueOf(MONDAY, '41/2026', 1)], {
      // Ready at the third request, whose response is lost; then forgotten and rendered again.
      odd: (request) => (isNoticePage(request) && ++looks === 3 ? { status: 202 } : undefined),
      rendering: 2,
    })
    expect((await ingestion.backfill(1, neverAborted)).complete).equal(true)
    expect(looks).above(3)
    expect(await numbersIn(database, 'notice')).deep.equal(['1-2026'])
  })

  it('restarts a listing whose total changes, and reports it if it never settles', async () => {
    const issues = [issueOf(MONDAY, '41/2026', 8)]
    const growing = await given(issues, {
      odd: (request, before) => {
        if (!isSearch(request) || before.some(({ body }) => body.includes('iterationNextToken'))) {
          return undefined
        }
        if (request.body.includes('iterationNextToken')) issues[0] = issueOf(MONDAY, '41/2026', 9)
        return undefined
      },
    })
    expect((await growing.ingestion.backfill(1, neverAborted)).days[0]).deep.include({
      state: 'closed',
      announced: 9,
    })
    let count = 8
    const endless = await given([issueOf(MONDAY, '41/2026', 8)], {
      odd: (request) =>
        isSearch(request)
          ? { body: JSON.stringify({ notices: [], totalNoticeCount: ++count, timedOut: false }) }
          : undefined,
    })
    const { days } = await endless.ingestion.backfill(1, neverAborted)
    expect(days[0]?.state).equal('listing')
    expect(days[0]?.problem).match(/^contradiction: /)
  })

  it('restarts a listing if its token has expired', async () => {
    const { ingestion, ted } = await given([issueOf(MONDAY, '41/2026', 12)], {
      odd: (request, before) =>
        isSearch(request) && before.filter(isSearch).length === 2 ? { status: 500 } : undefined,
    })
    expect((await ingestion.backfill(1, neverAborted)).days[0]?.announced).equal(12)
    expect(ted.requests.filter(isSearch)).lengthOf(7)
  })

  it('waits as long as a 429 demands and resends what was lost', async () => {
    const { ingestion, ted } = await given([issueOf(MONDAY, '41/2026', 6)], {
      odd: (request, before) => {
        if (before.length === 0) return { status: 429, headers: { 'retry-after': '1' } }
        if (before.length === 2) return { status: 503 }
        return isPackage(request) && !before.some(isPackage) ? { cutAt: 0, body: 'x' } : undefined
      },
    })
    expect((await ingestion.backfill(1, neverAborted)).complete).equal(true)
    expect(ted.requests[1]!.at - ted.requests[0]!.at).least(990)
  })

  it('stays silent across runs if blocked or asked to wait for long', async () => {
    for (const odd of [{ status: 403 }, { status: 429, headers: { 'retry-after': '3600' } }]) {
      let isShut = true
      const { ingestion, ted, clock } = await given([issueOf(MONDAY, '41/2026', 6)], {
        odd: () => (isShut ? odd : undefined),
      })
      const report = await ingestion.backfill(1, neverAborted)
      expect(report.days[0]?.problem).include(`blocked: status ${odd.status}`)
      expect(report.busyUntil).deep.equal(new Date('2026-03-02T13:00:00Z'))
      isShut = false
      await ingestion.sync(neverAborted)
      expect(ted.requests).lengthOf(1)
      clock.set('2026-03-02T13:00:01Z')
      expect((await ingestion.sync(neverAborted)).complete).equal(true)
    }
  })

  it('never exceeds its request rate', async () => {
    const settings = { ...FAST_SETTINGS, paceMs: 40, packageFrom: 99 }
    const { ingestion, ted } = await given([issueOf(MONDAY, '41/2026', 4)], {}, settings)
    await ingestion.backfill(1, neverAborted)
    const gaps = ted.requests.slice(1).map(({ at }, n) => at - ted.requests[n]!.at)
    // A request takes part of its interval; the next one is not sent earlier for it.
    expect(gaps.reduce((sum, gap) => sum + gap, 0)).least(gaps.length * 40 - 20)
  })

  it('fetches one by one what a package lacks: truncated, damaged or missing', async () => {
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
        odd: (request) => (isPackage(request) ? odd : undefined),
      })
      expect((await ingestion.backfill(1, neverAborted)).complete).equal(true)
      expect(await numbersIn(database, 'notice')).lengthOf(6)
      expect(new Set(ted.requests.filter(isNoticePage).map(({ path }) => path)).size).equal(alone)
    }
  })

  it('closes a day with an unreadable document and shows it', async () => {
    const issue = issueOf(MONDAY, '41/2026', 3)
    const [first, ...rest] = issue.notices
    const broken = { ...first!, xml: first!.xml.replace('</ContractNotice>', '') }
    const { ingestion, database } = await given([{ ...issue, notices: [broken, ...rest] }])
    const { days } = await ingestion.backfill(1, neverAborted)
    expect(days[0]).deep.include({ state: 'closed', pending: [] })
    expect(days[0]?.refused.map(({ number }) => number)).deep.equal(['1-2026'])
    expect(await numbersIn(database, 'notice')).deep.equal(['2-2026', '3-2026'])
  })

  it('rejects HTML pages as notices', async () => {
    const { ingestion, database } = await given([issueOf(MONDAY, '41/2026', 2)], {
      odd: (request, before) =>
        isNoticePage(request) && before.filter(isNoticePage).length < 4 ? HTML : undefined,
    })
    expect((await ingestion.backfill(1, neverAborted)).days[0]).deep.include({ refused: [] })
    expect(await numbersIn(database, 'notice')).lengthOf(2)
    const { rows } = await database.query('SELECT FROM refusal')
    expect(rows).lengthOf(0)
  })
})
