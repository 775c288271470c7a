import type { Database } from 'agenthub/plugin'
import { expect } from 'chai'
import type * as Stores from '../../../plugins/tenders/store/store.ts'
import type { Snapshot, Store } from '../../../plugins/tenders/store/types.ts'
import { eformsNotice, uuidOf } from '../../support/eforms.ts'
import { truncateTables } from './ingest/support.ts'
import { importPlanted, plantable, planting } from './planted.ts'
import { tendersDatabase } from './support.ts'

const DAY = '2026-03-02'
const OJS = '41/2026'
const POISON = '777001-2026'
const clock = { now: () => new Date('2026-03-03T12:00:00Z') }

/** A call, its correction and a notice of another call, of which one is the poison. */
const noticesAround = (poison: string): string[] => [
  eformsNotice({ number: '1-2026', day: DAY, ojs: OJS }),
  eformsNotice({ number: '2-2026', day: DAY, ojs: OJS, changes: '1-2026', deadline: '2026-05-05' }),
  eformsNotice({
    number: poison,
    day: DAY,
    ojs: OJS,
    changes: '1-2026',
    procedure: uuidOf('1-2026', 'b'),
  }),
  eformsNotice({ number: '900-2026', day: DAY, ojs: OJS }),
]

/** Record the failures of the others. */
const RECORDING = new Set(
  ['recordSetAside', 'causeOf', 'isNoticeError'].map((name) => `store/set-aside.ts:${name}`),
)

interface Published {
  readonly numbers: readonly string[]
  readonly tenders: number
  readonly setAside: readonly { number: string; stage: string; detail: string; stack: string }[]
}

async function publishAll(store: Store, documents: Iterable<string>): Promise<Snapshot> {
  const snapshot = await store.openSnapshot({ day: DAY, source: 'live', ojs: OJS })
  for (const xml of documents) await store.accept({ xml, snapshot })
  return store.closeSnapshot(snapshot)
}

async function stateOf(database: Database): Promise<Published> {
  const notices = await database.query<{ number: string }>('SELECT number FROM notice')
  const tenders = await database.query<{ n: number }>('SELECT count(*)::integer AS n FROM tender')
  const setAside = await database.query<Published['setAside'][number]>(
    'SELECT number, stage, detail, stack FROM refusal',
  )
  const numbers = notices.rows.map(({ number }) => number)
  return { numbers, tenders: tenders.rows[0]!.n, setAside: setAside.rows }
}

describe('tenders: a notice that fails', () => {
  let made: Awaited<ReturnType<typeof tendersDatabase>>
  let openStore: typeof Stores.openStore
  before(async () => {
    made = await tendersDatabase()
    ;({ openStore } = await importPlanted<typeof Stores>('store/store.ts'))
  })
  beforeEach(async () => {
    await truncateTables(made.database)
    Object.assign(planting, { failing: undefined, poison: POISON, failures: 0 })
  })
  after(async () => {
    planting.failing = undefined
    await made.close()
  })

  it('stops no other and is recorded, whichever function fails', async () => {
    const { database } = made
    const store = openStore(database, clock)
    const failed: string[] = []
    for (const name of plantable().filter((each) => !RECORDING.has(each))) {
      await truncateTables(database)
      Object.assign(planting, { failing: name, failures: 0 })
      await publishAll(store, noticesAround(POISON))
      const { numbers, tenders, setAside } = await stateOf(database)
      expect(numbers, name).to.include.members(['1-2026', '2-2026', '900-2026'])
      expect(tenders, name).to.equal(2)
      if (planting.failures === 0 || numbers.includes(POISON)) continue
      failed.push(name)
      expect(setAside, name).to.have.length(1)
      expect(setAside[0]!.stack, name).to.include('planted in')
      expect(setAside[0]!.detail, name).to.include(name)
    }
    expect(failed).to.include.members([
      'domain/derive.ts:derive',
      'domain/detect.ts:changesOf',
      'domain/facts.ts:factsOf',
      'domain/relevance.ts:relevanceOf',
      'domain/build-change.ts:buildChange',
      'domain/tender.ts:tenderOf',
      'parse/notice.ts:readNotice',
      'store/families.ts:familiesOf',
    ])
    expect(failed.length).to.be.greaterThan(25)
  })

  it('is published by the next version of the code', async () => {
    const { database } = made
    const store = openStore(database, clock)
    planting.failing = 'domain/relevance.ts:relevanceOf'
    const snapshot = await publishAll(store, noticesAround(POISON))
    expect((await stateOf(database)).setAside.map(({ number }) => number)).to.deep.equal([POISON])
    planting.failing = undefined
    await store.closeSnapshot(snapshot) // the same version does not try again
    expect((await stateOf(database)).numbers).to.not.include(POISON)
    await database.query(`UPDATE arrival SET failed_version = 'earlier'`)
    await store.closeSnapshot(snapshot)
    const { numbers, setAside } = await stateOf(database)
    expect(numbers).to.include(POISON)
    expect(setAside).to.deep.equal([])
  })

  it('is found by its constraint violation among 3,000 others', async () => {
    const { database } = made
    const store = openStore(database, clock)
    await database.query(
      `ALTER TABLE tender ADD CONSTRAINT planted CHECK (NOT numbers && ARRAY['${POISON}'])`,
    )
    const usual = function* () {
      for (let n = 1; n <= 3_000; n += 1) {
        yield eformsNotice({ number: `${n}-2026`, day: DAY, ojs: OJS })
        if (n === 1_500) yield eformsNotice({ number: POISON, day: DAY, ojs: OJS })
      }
    }
    try {
      await publishAll(store, usual())
    } finally {
      await database.query('ALTER TABLE tender DROP CONSTRAINT planted')
    }
    const { numbers, tenders, setAside } = await stateOf(database)
    expect(numbers).to.have.length(3_000)
    expect(tenders).to.equal(3_000)
    expect(setAside.map(({ number, stage }) => [number, stage])).to.deep.equal([
      [POISON, 'publish'],
    ])
  })
})
