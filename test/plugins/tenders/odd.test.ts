import { expect } from 'chai'
import { systemClock } from '../../../core/clock.ts'
import { answer } from '../../../plugins/tenders/answers/answer.ts'
import { openStore } from '../../../plugins/tenders/store/store.ts'
import { eformsNotice } from '../../support/eforms.ts'
import { tendersDatabase } from './support.ts'

const DAY = '2026-03-02'
const NOW = new Date('2026-03-03T12:00:00Z')

/** Modifications of a notice and their effects. */
const ODD_CHANGES: readonly (readonly [string, RegExp, string, 'stored' | 'refused'])[] = [
  ['a day of publication that there is not', /(PublicationDate>)[^<]*/, '$12026-02-30Z', 'refused'],
  ['a year before there was a journal', /(PublicationDate>)[^<]*/, '$10000-01-01Z', 'refused'],
  ['an issue that is none', /(GazetteID[^>]*>)[^<]*/, '$12026/41', 'stored'],
  ['an offset beyond the Earth', /(EndDate>[\d-]*)[^<]*/, '$1+99:99', 'stored'],
  ['a deadline in the year 0', /(EndDate>)[^<]*/, '$10000-01-01Z', 'stored'],
  ['a time that is none', /(EndTime>)[^<]*/, '$125:61:61', 'stored'],
  ['an endless name', /(ContractFolderID[^>]*>)[^<]*/, `$1${'x'.repeat(20_000)}`, 'stored'],
]

describe('tenders: one odd notice', () => {
  it('does not hide other notices, and is refused or shown without its odd parts', async () => {
    const made = await tendersDatabase()
    const { database } = made
    try {
      const store = openStore(database, systemClock)
      const snapshot = await store.openSnapshot({ day: DAY, source: 'live' })
      for (const [at, [what, place, odd, outcome]] of ODD_CHANGES.entries()) {
        const usual = eformsNotice({ number: `${at + 1}-2026`, day: DAY, ojs: '41/2026' })
        const xml = usual.replace(place, odd)
        expect(xml, what).to.not.equal(usual)
        expect((await store.accept({ xml, snapshot })).outcome, what).to.equal(outcome)
      }
      const usual = eformsNotice({ number: '99-2026', day: DAY, ojs: '41/2026' })
      await store.accept({ xml: usual, snapshot })
      await store.closeSnapshot(snapshot)
      const feed = (await answer(database, 'feed', {}, NOW)) as unknown as {
        readonly data: readonly { publication_number: string; next_deadline: string | null }[]
      }
      const numbers = feed.data.map((each) => each.publication_number)
      expect(numbers).to.have.members(['3-2026', '4-2026', '5-2026', '6-2026', '7-2026', '99-2026'])
      const without = feed.data.filter((each) => each.next_deadline === null)
      expect(without.map((each) => each.publication_number)).to.have.members([
        '4-2026',
        '5-2026',
        '6-2026',
      ])
    } finally {
      await made.close()
    }
  })
})
