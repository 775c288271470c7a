import { expect } from 'chai'
import type { Notice } from '../../../plugins/tenders/model.ts'
import { eformsNotice } from '../../support/eforms.ts'
import { readPublished } from './support.ts'

const NOTICE = eformsNotice({ number: '1-2026', day: '2026-03-02', ojs: '41/2026' })
const read = (edit: (xml: string) => string): Notice => readPublished(edit(NOTICE))

const END = '</cac:ProcurementProject>\n</cac:ProcurementProjectLot>'
const LAST_OF_LOT = new RegExp(`(</cac:MainCommodityClassification>)(?=${END})`, 'g')

describe('tenders: clocks and periods', () => {
  it('show the local time of the region for deadlines in UTC', () => {
    const cases = {
      ESP: { ES30: '14:00', ES70: '13:00', ES: '12:00' },
      PRT: { PT17: '13:00', PT20: '12:00' },
      FRA: { FR10: '14:00', FRY4: '16:00' },
      TUR: { TR10: '15:00' },
    }
    for (const [country, regions] of Object.entries(cases)) {
      for (const [nuts, time] of Object.entries(regions)) {
        const [shown] = read((xml) =>
          xml
            .replaceAll('+02:00</cbc:End', '+00:00</cbc:End')
            .replace(
              '<cac:Country>',
              `<cbc:CountrySubentityCode>${nuts}</cbc:CountrySubentityCode><cac:Country>`,
            )
            .replace('>AUT<', `>${country}<`),
        ).lots[0]!.deadlines
        expect(shown!.local, nuts).to.equal(`2026-04-20T${time}`)
      }
    }
  })

  it('end with the period of a qualification system, if all its lots have one', () => {
    const system = (period: string) =>
      read((xml) =>
        xml
          .replace('>cn-standard<', '>qu-sy<')
          .replace(/<cac:TenderSubmissionDeadlinePeriod>.*?Period>/s, '')
          .replaceAll(LAST_OF_LOT, `$1<cac:PlannedPeriod>${period}</cac:PlannedPeriod>`),
      ).endsOn
    const start = '<cbc:StartDate>2023-03-01+01:00</cbc:StartDate>'
    const lasts = (unit: string): string =>
      `${start}<cbc:DurationMeasure unitCode="${unit}">3</cbc:DurationMeasure>`
    expect(system('<cbc:EndDate>2026-01-31+01:00</cbc:EndDate>')).to.equal('2026-01-31')
    expect(system(lasts('YEAR'))).to.equal('2026-03-01')
    expect(system(lasts('MONTH'))).to.equal('2023-06-01')
    expect(system(start)).to.equal(null)
  })
})
