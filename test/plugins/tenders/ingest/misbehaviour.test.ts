import { expect } from 'chai'
import { type Odd, packageOf } from '../../../support/ted-server.ts'
import { issueOf, numbersIn, QUICK } from './support.ts'
import { isLook, isPackage, isSearch, MONDAY, never, TUESDAY, useJournal } from './world.ts'

const HTML: Odd = { body: '<!doctype html><html><body>Maintenance</body></html>' }

describe('ingestion from a journal that misbehaves', () => {
  const { given } = useJournal()

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

  it('keeps quiet, over all runs, when it is shut out or told to wait for long', async () => {
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

  it('gets one by one what a package has not: cut off, damaged, or none at all', async () => {
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
})
