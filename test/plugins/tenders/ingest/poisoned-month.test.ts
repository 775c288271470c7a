import { expect } from 'chai'
import { createEgress } from '../../../../core/egress/egress.ts'
import { createIngestion } from '../../../../plugins/tenders/ingest/index.ts'
import { type Issue, type Odd, type Published, packageOf } from '../../../support/ted-server.ts'
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

const PER_DAY = 10

/** Kinds of documents that cannot be used, each a change of a usual one. */
const POISONS: Readonly<Record<string, (xml: string) => string>> = {
  truncated: (xml) => xml.slice(0, -300),
  empty: () => ' ',
  'not XML': () => '%PDF-1.7 …',
  'with a document type': (xml) => xml.replace('?>', '?><!DOCTYPE x [<!ENTITY y "z">]>'),
  'of an unknown root': (xml) => xml.replaceAll('ContractNotice', 'UnheardOfNotice'),
  'of an unknown notice type': (xml) =>
    xml.replace('listName="competition">cn-standard', '>soon').replaceAll('ContractNotice', 'X'),
  'with the number of another notice': (xml) => xml.replace(/\d{8}-2026/, '00999999-2026'),
  'without a number': (xml) => xml.replace(/\d{8}-2026/, ''),
  'published in the year 2062': (xml) => xml.replace(/(PublicationDate>)2026/, '$12062'),
  'too deep': (xml) =>
    xml.replace('<cbc:VersionID>', `${'<a>'.repeat(70)}${'</a>'.repeat(70)}<cbc:VersionID>`),
}

/** Ways in which a daily package fails, each a change of a usual one. */
const BROKEN_PACKAGES: readonly ((whole: Buffer, issue: Issue) => Odd | Promise<Odd>)[] = [
  (whole) => ({ body: whole.subarray(0, whole.length / 2) }),
  (whole) => ({ body: whole, cutAt: 200 }),
  () => ({ body: '<!doctype html><html>Maintenance</html>' }),
  () => ({ body: '' }),
  () => ({ status: 404, body: 'not found' }),
  () => ({ status: 500, body: 'failed' }),
  async (_, issue) => ({ body: await packageOf({ ...issue, day: '2026-01-05' }) }),
  async (_, issue) => ({ body: await packageOf({ ...issue, notices: [] }) }),
]

/** Responses to requests of packages, for the days after those with poisoned notices. */
async function brokenPackages(issues: readonly Issue[]): Promise<ReadonlyMap<string, Odd>> {
  const later = issues.slice(Object.keys(POISONS).length)
  const made = BROKEN_PACKAGES.map(async (broken, at): Promise<[string, Odd]> => {
    const issue = later[at]!
    const ordinal = issue.ojs.split('/')[0]!.padStart(5, '0')
    return [`/packages/daily/2026${ordinal}`, await broken(await packageOf(issue), issue)]
  })
  return new Map(await Promise.all(made))
}

/** A month of issues; one notice of each of the first days is of a kind above. */
function poisonedMonth(): { readonly issues: Issue[]; readonly poisoned: string[] } {
  const kinds = Object.values(POISONS)
  const poisoned: string[] = []
  const days = Array.from({ length: 28 }, (_, n) => new Date(Date.UTC(2026, 1, 2 + n)))
  const issues = days
    .filter((day) => day.getUTCDay() % 6 !== 0)
    .map((date, at): Issue => {
      const day = date.toISOString().slice(0, 10)
      const issue = issueOf(day, `${at + 20}/2026`, PER_DAY, at * 100 + 1)
      const poison = kinds[at]
      if (!poison) return issue
      const spoilt = (each: Published, n: number): Published => {
        if (n !== 4) return each
        poisoned.push(each.number)
        return { ...each, xml: poison(each.xml) }
      }
      return { ...issue, notices: issue.notices.map(spoilt) }
    })
  return { issues, poisoned }
}

describe('a backfill with notices that fail', () => {
  const { given, later } = useJournal()

  it('publishes everything else of a month, and reports what was set aside', async () => {
    const { issues, poisoned } = poisonedMonth()
    const packages = await brokenPackages(issues)
    const { ingestion, database, clock, ted } = await given(issues, {
      rendering: 0,
      odd: ({ path }) => packages.get(path),
    })
    const unpublishable = '1901-2026'
    await database.query(
      `ALTER TABLE change ADD CONSTRAINT planted CHECK (score >= 0);
       ALTER TABLE tender ADD CONSTRAINT planted CHECK (number <> '${unpublishable}')`,
    )
    try {
      clock.set('2026-03-01T12:00:00Z')
      const { days } = await ingestion.backfill(28, neverAborted)
      const open = days.filter(({ state }) => state !== 'closed' && state !== 'silent')
      expect(open).deep.equal([])
      const packagePaths = new Set(ted.requests.filter(isPackage).map(({ path }) => path))
      expect([...packagePaths]).include.members([...packages.keys()])
      const refused = days.flatMap((day) => day.refused.map(({ number }) => number))
      expect(refused).have.members([...poisoned, unpublishable])
      expect(await numbersIn(database, 'notice')).lengthOf(20 * PER_DAY - poisoned.length - 1)
      const { rows } = await database.query<{ number: string; stage: string; file: string }>(
        'SELECT number, stage, file, day FROM refusal',
      )
      expect(rows.map(({ number }) => number)).include.members([...poisoned, unpublishable])
      for (const row of rows)
        expect(row)
          .property('day')
          .match(/^2026-02/)
      const run = ingestion.schedules['ingest']!.run(neverAborted)
      const alert = await Promise.resolve(run).then(String, String)
      expect(alert).include('11 days have notices that were set aside')
    } finally {
      await database.query(
        'ALTER TABLE change DROP CONSTRAINT planted; ALTER TABLE tender DROP CONSTRAINT planted',
      )
    }
  })

  it('reads a day again if another version of the code set its notices aside', async () => {
    const issue = issueOf(MONDAY, '41/2026', 3)
    let isBroken = true
    const { ingestion, database } = await given([issue], {
      odd: (request) =>
        isBroken && isNoticePage(request) && request.path.includes('/2-2026/')
          ? { status: 200, body: '<Other/>' }
          : undefined,
    })
    const first = await ingestion.backfill(1, neverAborted)
    expect(first.days[0]?.refused.map(({ number }) => number)).deep.equal(['2-2026'])
    isBroken = false
    await ingestion.sync(neverAborted)
    expect(await numbersIn(database, 'notice')).deep.equal(['1-2026', '3-2026'])
    await database.query(`UPDATE refusal SET code_version = 'earlier'`)
    const second = await ingestion.sync(neverAborted)
    expect(second.days[0]).deep.include({ state: 'closed', refused: [], problem: null })
    expect(await numbersIn(database, 'notice')).lengthOf(3)
    expect((await database.query('SELECT FROM refusal')).rows).lengthOf(0)
  })

  it('records an unexpected error on its day and reads the others', async () => {
    const issues = [issueOf(MONDAY, '41/2026', 2), issueOf(TUESDAY, '42/2026', 2, 50)]
    const { ted, database, clock, store } = await given(issues)
    clock.set(`${TUESDAY}T12:00:00Z`)
    const http = createEgress({
      userAgent: 'test',
      sandboxHosts: new Map([['ted.test', ted.port]]),
    })
    later(() => http.close())
    const ingestion = createIngestion({
      host: { http, clock, log: () => undefined, secret: () => 'ops@hub.test' },
      database,
      store: {
        ...store,
        async closeSnapshot(snapshot) {
          if (snapshot.day === MONDAY) throw new TypeError('planted')
          return store.closeSnapshot(snapshot)
        },
      },
      settings: FAST_SETTINGS,
    })
    const { days } = await ingestion.backfill(2, neverAborted)
    expect(days.map(({ state }) => state)).deep.equal(['fetching', 'closed'])
    expect(days[0]?.problem).equal('unexpected_error: TypeError: planted')
    expect(days[0]?.stack).include('poisoned-month.test.ts')
    expect(await numbersIn(database, 'notice')).deep.equal(['50-2026', '51-2026'])
  })

  it('fetches the notices of a search response with a hit that has no number', async () => {
    const issue = issueOf(MONDAY, '41/2026', 3)
    const notices = [
      ...issue.notices.slice(0, 3).map(({ number }) => ({ 'publication-number': number })),
      {},
    ]
    const body = JSON.stringify({
      notices,
      totalNoticeCount: 4,
      iterationNextToken: null,
      timedOut: false,
    })
    const { ingestion, database } = await given([issue], {
      odd: (request) => (isSearch(request) ? { status: 200, body } : undefined),
    })
    const { days } = await ingestion.backfill(1, neverAborted)
    expect(days[0]).deep.include({ state: 'closed', flags: ['unreadable_hits:1'] })
    expect(await numbersIn(database, 'notice')).lengthOf(3)
  })
})
