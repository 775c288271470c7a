import { expect } from 'chai'
import { itemOf } from '../../../plugins/tenders/answers/item.ts'
import { derive } from '../../../plugins/tenders/domain/derive.ts'
import { lotsNamedIn } from '../../../plugins/tenders/parse/lot-names.ts'
import {
  correction,
  corrigendum,
  type LegacyFiction,
  legacyNotice,
  objectWithLots,
} from '../../support/legacy-notice.ts'
import { readPublished } from './support.ts'

const deadline = (day: string): string => `<DATE>${day}</DATE><TIME>12:00</TIME>`
const procedure = `<PROCEDURE><PT_OPEN/><DATE_RECEIPT_TENDERS>2021-02-26</DATE_RECEIPT_TENDERS>
<TIME_RECEIPT_TENDERS>12:00</TIME_RECEIPT_TENDERS></PROCEDURE>`
const cpv = (kind: 'MAIN' | 'ADDITIONAL', code: string): string =>
  `<CPV_${kind}><CPV_CODE CODE="${code}"/></CPV_${kind}>`
const CALL: LegacyFiction = {
  number: '1-2021',
  day: '2021-01-20',
  form: 'F02',
  body: objectWithLots(['1', '2', '3', '4', '5']) + procedure,
}

const deriveFrom = (...fictions: LegacyFiction[]) =>
  derive(fictions.map((each) => ({ notice: readPublished(legacyNotice(each)), sha256: 'x' })))

/** Changes and deadlines of the call after a correction of its deadline. */
function corrected(lot: string | undefined, to = '2021-03-05', country = 'AT') {
  const change = correction('IV.2.2)', deadline('2021-02-26'), deadline(to), lot)
  const f14 = { number: '2-2021', form: 'F14', country, body: corrigendum(change) }
  const { changes, tenders } = deriveFrom(CALL, f14)
  const moved = tenders[0]!.lots.filter(({ deadlines }) => deadlines[0]!.local.startsWith(to))
  return { change: changes[0]!, moved: moved.map(({ lot_id }) => lot_id) }
}

describe('tenders: lots that a text names', () => {
  const cases: Readonly<Record<string, readonly string[] | undefined>> = {
    '3': ['LOT-0003'],
    'Lot 1 and 2': ['LOT-0001', 'LOT-0002'],
    'Lots 1, 2 et 4': ['LOT-0001', 'LOT-0002', 'LOT-0004'],
    '3-5': ['LOT-0003', 'LOT-0004', 'LOT-0005'],
    'Los 1 bis 2': ['LOT-0001', 'LOT-0002'],
    '1 - Name': ['LOT-0001'],
    'Část č. 2': ['LOT-0002'],
    'Lot n°2': ['LOT-0002'],
    '1/1': ['LOT-0001'],
    'Lot 1A - 2C Sud': ['LOT-001A'],
    'Lot 1-Lot 3': ['LOT-0001', 'LOT-0002', 'LOT-0003'],
    'Lot 1 / Lot 2': ['LOT-0001', 'LOT-0002'],
    'Lots: 1 2': ['LOT-0001', 'LOT-0002'],
    'Części nr 1 oraz nr 3': ['LOT-0001', 'LOT-0003'],
    'Обособена позиция № 3': ['LOT-0003'],
    'Части 1 до 2': ['LOT-0001', 'LOT-0002'],
    'Lotes 1 a 3': ['LOT-0001', 'LOT-0002', 'LOT-0003'],
    'Části 1 a 3': ['LOT-0001', 'LOT-0003'],
    '1 - North, 2 - South': ['LOT-0001', 'LOT-0002'],
    '1 - Wind, solar and storage': ['LOT-0001'],
    'Lot 1 (North)': ['LOT-0001'],
    '1 - Line, 2 transformers': undefined,
    'except lot 3': undefined,
    'Lots 3 et suivants': undefined,
    '1/2': undefined, // a list, or the first of two
    'LOT-0002': ['LOT-0002'],
    'Lot A': undefined,
    '1 a 3': undefined, // a range in Spanish, a list in Czech
    '10 kV substation': undefined,
    '5-3': undefined,
  }
  for (const [text, ids] of Object.entries(cases)) {
    it(`reads ${text} as ${ids?.join(', ') ?? 'unknown'}`, () => {
      expect(lotsNamedIn(text)).to.deep.equal(ids)
    })
  }
})

describe('tenders: corrections of older forms', () => {
  it('apply to the lots that they name, and to all if they name none', () => {
    expect(corrected('Lot 1 and 2').moved).to.deep.equal(['LOT-0001', 'LOT-0002'])
    expect(corrected('3-5').moved).to.deep.equal(['LOT-0003', 'LOT-0004', 'LOT-0005'])
    expect(corrected(undefined).moved).to.have.length(5)
    expect(corrected('2').change).to.include({ verification_status: 'verified' })
  })

  it('apply to all lots if they say so, and to lots that are named as in the call', () => {
    for (const lot of ['All lots', 'Tous les lots', 'alle Lose', '-']) {
      expect(corrected(lot).moved, lot).to.have.length(5)
    }
    const lettered = { ...CALL, body: objectWithLots(['Lot A', 'Lot B', 'Lot C']) + procedure }
    const change = correction('IV.2.2', deadline('2021-02-26'), deadline('2021-03-05'), 'A and B')
    const { changes } = deriveFrom(lettered, {
      number: '2-2021',
      form: 'F14',
      body: corrigendum(change),
    })
    expect(changes[0]).to.deep.include({
      verification_status: 'verified',
      lot_ids: ['LOT-000A', 'LOT-000B'],
    })
  })

  it('touch no lot and are declared if their lots cannot be identified', () => {
    for (const lot of ['Lot A', '9', '1 a 3']) {
      const { change, moved } = corrected(lot)
      expect(moved, lot).to.deep.equal([])
      expect(change, lot).to.include({ verification_status: 'declared', lot_text: lot })
      expect(change.commercial_impact.summary).to.include(`not identified: ${lot}`)
    }
  })

  it('are suspect and change nothing if they move a deadline by more than a year', () => {
    const { change, moved } = corrected(undefined, '2031-03-05')
    expect(change.verification_status).to.equal('suspect')
    expect(moved).to.deep.equal([])
  })

  it('are suspect if they move a deadline into the past, or far away from nothing', () => {
    expect(corrected(undefined, '2021-01-05').change.verification_status).to.equal('suspect')
    expect(corrected(undefined, '2021-02-20').change.verification_status).to.equal('verified')
    const change = correction('IV.2.2', '<NOTHING/>', deadline('2031-03-05'))
    const body = corrigendum(change)
    const { changes } = deriveFrom(CALL, { number: '2-2021', form: 'F14', body })
    expect(changes[0]!.verification_status).to.equal('suspect')
  })

  it('are of high impact if the deadline is in a text alone', () => {
    const text = (words: string) => `<TEXT><P>${words}</P></TEXT>`
    const change = correction('IV.2.2)', text('26/02/2021 12:00'), text('05/03/2021 12:00'))
    for (const more of [
      '',
      correction('II.1.2', cpv('MAIN', '31000000'), cpv('MAIN', '31170000')),
    ]) {
      const body = corrigendum(change + more)
      const { changes } = deriveFrom(CALL, { number: '2-2021', form: 'F14', body })
      const moved = changes.find(({ signal }) => signal === 'deadline')!
      expect(moved).to.deep.include({ verification_status: 'declared', field: 'BT-131' })
      expect(moved.commercial_impact.level).to.equal('high')
    }
  })

  it('replace only the additional codes that they name', () => {
    const lots = objectWithLots(['1']).replace(
      '<LOT_NO>',
      `${cpv('ADDITIONAL', '31100000')}${cpv('ADDITIONAL', '31200000')}<LOT_NO>`,
    )
    const data = ['31000000', '31100000', '31200000']
      .map((code) => `<ORIGINAL_CPV CODE="${code}">x</ORIGINAL_CPV>`)
      .join('')
    const change = correction(
      'II.2.2)',
      cpv('ADDITIONAL', '31100000'),
      cpv('ADDITIONAL', '31170000'),
    )
    const call = { ...CALL, data, body: lots + procedure }
    const f14 = { number: '2-2021', form: 'F14', body: corrigendum(change) }
    const [tender] = deriveFrom(call, f14).tenders
    expect(tender!.cpv_additional).to.deep.equal(['31200000', '31170000'])
    expect(tender!.lots[0]!.cpv_additional).to.deep.equal(['31200000', '31170000'])
  })

  it('use the clock of the tender, not of the corrigendum', () => {
    const { after } = corrected('1', '2021-03-05', 'FI').change
    expect(after).to.include({ at: '2021-03-05T12:00+01:00' })
  })

  it('update main and additional CPV codes, each its own', () => {
    const change = (kind: 'MAIN' | 'ADDITIONAL', section: string, lot?: string) =>
      correction(section, cpv(kind, '31000000'), cpv(kind, '31170000'), lot)
    const body = corrigendum(change('MAIN', 'II.1.2)') + change('ADDITIONAL', 'II.2.2)', '2'))
    const { changes, tenders } = deriveFrom(CALL, { number: '2-2021', form: 'F14', body })
    expect(changes.map(({ field }) => field)).to.deep.equal(['BT-262', 'BT-263'])
    expect(tenders[0]!.cpv_main).to.equal('31170000')
    expect(tenders[0]!.lots[1]!.cpv_additional).to.deep.equal(['31170000'])
  })
})

describe('tenders: older forms', () => {
  const kindOf = (form: string, purpose: string): string => {
    const body = `<NOTICE TYPE="${purpose}"/>${objectWithLots(['1'])}`
    return readPublished(legacyNotice({ number: '1-2021', form, body })).kind
  }

  it('are plans, calls or results by what they say they are for', () => {
    expect(kindOf('F01', 'PRI_ONLY')).to.equal('planning')
    expect(kindOf('F01', 'PRI_CALL_COMPETITION')).to.equal('competition')
    expect(kindOf('F04', 'PER_CALL_COMPETITION')).to.equal('competition')
    expect(kindOf('F04', 'PER_REDUCING_TIME_LIMITS')).to.equal('planning')
    expect(kindOf('F22', 'PER_ONLY')).to.equal('planning')
    expect(kindOf('F22', 'CONTRACT')).to.equal('competition')
    expect(kindOf('F22', 'AWARD_CONTRACT')).to.equal('result')
  })

  it('keep every object of a notice', () => {
    const body = `<NOTICE TYPE="PER_ONLY"/>${objectWithLots(['1'])}${objectWithLots(['1'])}`
    const { lots } = readPublished(legacyNotice({ number: '1-2021', form: 'F22', body }))
    expect(lots.map(({ id }) => id)).to.deep.equal(['LOT-0001', 'LOT-0002'])
  })

  it('have totals and ranges at either place, and lots that join by number', () => {
    const award = (lot: string, name: string, more = ''): string =>
      `<AWARD_CONTRACT><LOT_NO>${lot}</LOT_NO><AWARDED_CONTRACT><CONTRACTORS><CONTRACTOR>
<ADDRESS_CONTRACTOR><OFFICIALNAME>${name}</OFFICIALNAME><COUNTRY VALUE="AT"/></ADDRESS_CONTRACTOR>
</CONTRACTOR></CONTRACTORS>${more}</AWARDED_CONTRACT></AWARD_CONTRACT>`
    const value = (n: number) => `<VALUES><VAL_TOTAL CURRENCY="EUR">${n}</VAL_TOTAL></VALUES>`
    const total = `<VALUE><VAL_RANGE_TOTAL CURRENCY="EUR"><LOW>1</LOW><HIGH>9</HIGH>
</VAL_RANGE_TOTAL></VALUE>`
    const body = `${objectWithLots(['1 - North', '2 - South'], total)}
${award('1', 'Fiction One', value(10))}${award('1', 'Fiction Two', value(5))}
${award('2 - South', 'Fiction Three')}`
    const [tender] = deriveFrom({ number: '1-2021', form: 'F06', body }).tenders
    const names = ({ winners }: { winners: readonly { name: string }[] }) =>
      winners.map(({ name }) => name)
    expect(tender!.lots.map(({ award: won }) => won && names(won))).to.deep.equal([
      ['Fiction One', 'Fiction Two'],
      ['Fiction Three'],
    ])
    expect(tender!.lots[0]!.award!.value).to.deep.equal({ amount: '15', currency: 'EUR' })
    expect(tender!.award!.lots).to.have.length(3)
    expect(tender!.award!.total_range!.high).to.deep.equal({ amount: '9', currency: 'EUR' })
  })

  it('name their directive and procedure in the codes of eForms', () => {
    const coded = '<DIRECTIVE VALUE="2014/25/EU"/><PR_PROC CODE="T">x</PR_PROC>'
    const xml = legacyNotice({ ...CALL, coded }).replace('<LEGAL_BASIS VALUE="32014L0024"/>', '')
    expect(readPublished(xml)).to.include({
      legalBasis: '32014L0025',
      procedureType: 'neg-wo-call',
    })
  })

  it('are awarded by a contract for defence and by a prize', () => {
    const operator = `<ECONOMIC_OPERATOR_NAME_ADDRESS><CONTACT_DATA_WITHOUT_RESPONSIBLE_NAME>
<ORGANISATION><OFFICIALNAME>Fiction</OFFICIALNAME></ORGANISATION>
</CONTACT_DATA_WITHOUT_RESPONSIBLE_NAME></ECONOMIC_OPERATOR_NAME_ADDRESS>`
    const contract = `<AWARD_OF_CONTRACT_DEFENCE>${operator}</AWARD_OF_CONTRACT_DEFENCE>`
    const defence = `<FD_X>${contract}</FD_X>`
    const prize = `<RESULTS><AWARDED_PRIZE><WINNERS><WINNER><ADDRESS_WINNER>
<OFFICIALNAME>Fiction</OFFICIALNAME></ADDRESS_WINNER></WINNER></WINNERS></AWARDED_PRIZE></RESULTS>`
    for (const [form, body] of [
      ['18', defence],
      ['F13', objectWithLots(['1']) + prize],
    ] as const) {
      const [tender] = deriveFrom({ number: '1-2021', form, body }).tenders
      expect(tender!.state, form).to.equal('awarded')
      expect(tender!.award!.winners[0]!.name, form).to.equal('Fiction')
    }
  })

  it('end with their system or, for plans, after a year', () => {
    const system = `${objectWithLots(['1'])}<QS><DATE_END>2022-01-31</DATE_END></QS>`
    const plan = `<NOTICE TYPE="PRI_ONLY"/>${objectWithLots(['1'])}`
    const statusAt = (form: string, body: string, now: string): string => {
      const [tender] = deriveFrom({ number: '1-2021', form, body }).tenders
      return itemOf(tender!, new Date(now)).status
    }
    expect(statusAt('F07', system, '2022-01-30T00:00:00Z')).to.equal('open')
    expect(statusAt('F07', system, '2022-02-01T00:00:00Z')).to.equal('closed')
    expect(statusAt('F01', plan, '2022-02-01T00:00:00Z')).to.equal('planned')
    expect(statusAt('F01', plan, '2022-03-01T00:00:00Z')).to.equal('lapsed')
  })

  it('keep inline markup where it stands', () => {
    const title = '<TITLE><P>Flow 700 m<FT TYPE="SUP">3</FT>/day</P><P>Second</P></TITLE>'
    const body = `<OBJECT_CONTRACT>${title}</OBJECT_CONTRACT>`
    const { title: titles } = readPublished(legacyNotice({ number: '1-2021', form: 'F02', body }))
    expect(titles[0]!.text).to.equal('Flow 700 m3/day Second')
    const marked = body.replace(title, '<TITLE><P><FT>m</FT><FT>3</FT></P><P>day</P></TITLE>')
    const read = readPublished(legacyNotice({ number: '1-2021', form: 'F02', body: marked }))
    expect(read.title[0]!.text).to.equal('m3 day')
  })
})
