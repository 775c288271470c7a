import { expect } from 'chai'
import { relevanceOf, SCORE_MIN } from '../../../plugins/tenders/domain/relevance.ts'
import type { Notice } from '../../../plugins/tenders/model.ts'
import { eformsNotice } from '../../support/eforms.ts'
import { readPublished } from './support.ts'

interface Case {
  readonly title: string
  readonly cpv: string
  readonly additional?: readonly string[]
  readonly activity?: string
  readonly buyer?: string
}

function noticeOf({ title, cpv, additional = [], activity, buyer }: Case): Notice {
  const xml = eformsNotice({ number: '1-2026', day: '2026-03-02', ojs: '41/2026', cpv, title })
  const notice = readPublished(xml)
  return {
    ...notice,
    cpv: { main: cpv, additional },
    activities: activity === undefined ? [] : [activity],
    buyers: buyer === undefined ? notice.buyers : [{ ...notice.buyers[0]!, name: buyer }],
  }
}
const scoreOf = (given: Case): number => relevanceOf(noticeOf(given)).score

describe('tenders: relevance', () => {
  const relevant: Case[] = [
    { title: 'Neubau Trafostation Nord', cpv: '45000000' },
    { title: 'Energy data management system', cpv: '48000000', activity: 'electricity' },
    { title: 'Works on electricity meters', cpv: '45317000', activity: 'electricity' },
    { title: 'Bau der 110-kV-Leitung, 110 kV', cpv: '45000000', activity: 'electricity' },
    { title: 'Fourniture de carburants', cpv: '30163000', additional: ['09132000'] },
    { title: 'Meters', cpv: '38554000' },
    { title: 'Dodávka zemného plynu', cpv: '45000000' },
  ]
  for (const given of relevant) {
    it(`puts into the feed: ${given.title}`, () => {
      expect(scoreOf(given)).to.be.at.least(SCORE_MIN)
    })
  }

  const irrelevant: Case[] = [
    { title: 'Dredging of the harbor', cpv: '45252124' },
    { title: 'Sewage plant', cpv: '45252100', additional: ['45259900'] },
    { title: 'Leasing of electric vehicles', cpv: '34144900' },
    { title: 'Electric cars', cpv: '34110000', activity: 'electricity' },
    { title: 'Hall for trains', cpv: '45213320', additional: ['09331200', '45315000'] },
    { title: 'Electrical works in a school', cpv: '45311200' },
    { title: 'Guards for Gridco Energy', cpv: '79710000', activity: 'electricity' },
    { title: 'Zemné práce v obci', cpv: '45112500' },
    { title: 'Sanierung im Kurort Bad Beispiel', cpv: '45000000' },
    { title: 'Cars for Solartec', cpv: '90000000', buyer: 'Solartec' },
  ]
  for (const given of irrelevant) {
    it(`omits from the feed: ${given.title}`, () => {
      expect(scoreOf(given)).to.be.below(SCORE_MIN)
    })
  }

  it('explains a score that the title alone decides', () => {
    const { breakdown, label } = relevanceOf(noticeOf(relevant[0]!))
    expect(breakdown).to.include({ cpv: 0, rule: 'title' })
    expect(label).to.equal('low')
  })
})
