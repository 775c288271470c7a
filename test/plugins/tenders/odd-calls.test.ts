import { expect } from 'chai'
import { itemOf } from '../../../plugins/tenders/answers/item.ts'
import { derive } from '../../../plugins/tenders/domain/derive.ts'
import type { Notice } from '../../../plugins/tenders/model.ts'
import { readHits } from '../../../plugins/tenders/parse/search-hit.ts'
import { eformsNotice, uuidOf } from '../../support/eforms.ts'
import { readPublished } from './support.ts'

const DAY = '2026-03-02'
const NOW = new Date('2026-03-10T12:00:00Z')
const same = { ojs: '41/2026', procedure: uuidOf('1-2026', 'b') }

type Edit = (xml: string) => string
const call = (edit: Edit = (xml) => xml, number = '1-2026', day = DAY, changes?: string) =>
  readPublished(
    edit(eformsNotice({ number, day, ...same, ...(changes !== undefined && { changes }) })),
  )
const deriveFrom = (...notices: Notice[]) =>
  derive(notices.map((notice) => ({ notice, sha256: 'x' })))
const itemFrom = (...notices: Notice[]) => itemOf(deriveFrom(...notices).tenders[0]!, NOW)

const reason =
  (code: string, section = 'PROCEDURE', text = 'Fictional.'): Edit =>
  (xml) =>
    xml
      .replace('>cor-buy<', `>${code}<`)
      .replace('Identifier>LOT-0001<', `Identifier>${section}<`)
      .replace('The deadline is later.', text)

/** Adds a second lot, and a value to each. */
const twoLots: Edit = (xml) => {
  const value = `<cac:RequestedTenderTotal><cbc:EstimatedOverallContractAmount currencyID="EUR">100
</cbc:EstimatedOverallContractAmount></cac:RequestedTenderTotal>`
  const at = xml.indexOf('<cac:ProcurementProjectLot>')
  const lot = xml.slice(at).replace('</ContractNotice>', '')
  const valued = lot.replace('<cbc:ProcurementTypeCode', `${value}<cbc:ProcurementTypeCode`)
  return `${xml.slice(0, at)}${valued}${valued.replace('LOT-0001', 'LOT-0002')}</ContractNotice>`
}

describe('tenders: cancellations', () => {
  it('of one lot say so, and the sum of values leaves it out', () => {
    const cancel = call(
      (xml) => reason('cancel', 'LOT-0002')(twoLots(xml)),
      '2-2026',
      '2026-03-03',
      '1-2026',
    )
    const { changes, tenders } = deriveFrom(call(twoLots), cancel)
    const change = changes.find(({ event }) => event === 'cancelled')!
    expect(change.commercial_impact.summary).to.equal('The buyer cancels LOT-0002; code cancel.')
    expect(change.commercial_impact.action).to.include('these lots only')
    expect(tenders[0]!.estimated_value).to.include({ amount: '100', source: 'lots_sum' })
    expect(itemOf(tenders[0]!, NOW).status).to.equal('open')
  })

  it('end when the call is published anew', () => {
    const cancel = call(reason('cancel'), '2-2026', '2026-03-03', '1-2026')
    const again = call(reason('update-add'), '3-2026', '2026-03-05', '2-2026')
    expect(itemFrom(call(), cancel).status).to.equal('cancelled')
    expect(itemFrom(call(), cancel, again).status).to.equal('open')
    const events = deriveFrom(call(), cancel, again).changes.map(({ event }) => event)
    expect(events).to.include.members(['cancelled', 'reopened'])
  })
})

describe('tenders: deadlines that a text moves', () => {
  const texts = [
    'The deadline for receipt of tenders has been extended.',
    'Die Abgabefrist wird verlängert.',
    'La date limite de remise des offres est reportée.',
    'Termin składania ofert został przedłużony.',
    'Se amplía el plazo de presentación de ofertas.',
    'Срокът за получаване на оферти се удължава.',
    'Παράταση της προθεσμίας υποβολής προσφορών.',
    'Tarjousten jättämisen määräaikaa on jatkettu.',
    'Az ajánlattételi határidő módosul.',
    'Change of BT-131(d)-Lot.',
    'Uitstel van de indieningsdatum',
    'Prestavitev roka za predložitev prijav',
    'Ny sista dag för att lämna anbud',
    'Time limit for receipt of tenders or requests to participate',
    'Submission: 1.4.26 becomes 20.4.26',
    'Until April 20, 2026 instead of April 1, 2026',
    'Neu: 20. April 2026',
  ]
  for (const text of texts) {
    it(`are of high impact: ${text}`, () => {
      const notice = call(reason('update-add', 'PROCEDURE', text), '2-2026', DAY, '9-2026')
      const [change] = deriveFrom(notice).changes
      expect(change).to.include({ signal: 'deadline', verification_status: 'declared' })
      expect(change!.commercial_impact.level).to.equal('high')
      expect(change!.after).to.include({ at: '2026-04-20T12:00+02:00' })
    })
  }
  const others = [
    'The contract duration is extended to 36 months.',
    'Die Bindefrist wird verlängert.',
    'Zmiana terminu realizacji zamówienia.',
    'La visite du site est reportée.',
    'The deadline for questions was extended.',
    'Contact data corrected.',
    'Le délai de validité des offres est porté à 180 jours.',
    'Kysymysten määräaikaa jatkettu.',
    'Zmiana kryteriów oceny ofert.',
  ]
  for (const text of others) {
    it(`are not seen in: ${text}`, () => {
      const notice = call(reason('update-add', 'PROCEDURE', text), '2-2026', DAY, '9-2026')
      expect(deriveFrom(notice).changes[0]!.signal).to.equal('other')
    })
  }

  it('give hours if they move by less than two days', () => {
    const later = call(
      (xml) => xml.replaceAll('12:00:00+02:00', '16:30:00+02:00'),
      '2-2026',
      '2026-03-03',
      '1-2026',
    )
    const change = deriveFrom(call(), later).changes.find(({ signal }) => signal === 'deadline')
    expect(change!.commercial_impact).to.include({ level: 'high', days_delta: 0, hours_delta: 4.5 })
    expect(change!.commercial_impact.summary).to.include('(4.5 hours later)')
  })
})

describe('tenders: odd calls', () => {
  it('are unclear, flagged and limited in score if the deadline is no date', () => {
    const item = itemFrom(call((xml) => xml.replace('EndDate>2026-04-20', 'EndDate>2026-02-30')))
    expect(item).to.include({ status: 'unclear', next_deadline: null })
    expect(item.flags).to.include('deadline_unreadable')
    expect(item.score).to.be.below(40)
  })

  it('are flagged if the deadline or the version of the schema is odd', () => {
    const far = call((xml) => xml.replace('EndDate>2026-', 'EndDate>2062-'))
    expect(itemFrom(far).flags).to.deep.equal(['deadline_far_future'])
    const next = call((xml) => xml.replace('eforms-sdk-1.10', 'eforms-sdk-2.3'))
    expect(itemFrom(next).flags).to.deep.equal(['unknown_schema_version'])
    expect(itemFrom(call()).flags).to.deep.equal([])
  })

  it('show the local time of the buyer for deadlines in UTC', () => {
    const utc = call((xml) => xml.replaceAll('+02:00</cbc:End', 'Z</cbc:End'))
    const [deadline] = utc.lots[0]!.deadlines
    expect(deadline).to.include({ at: '2026-04-20T12:00Z', local: '2026-04-20T14:00' })
  })

  it('have the names of their codes, and an English title if there is one', () => {
    const item = itemFrom(call())
    expect(item.cpv_names).to.deep.equal({ '09310000': 'Electricity' })
    expect(item.title_en).to.equal('Fictional electricity 1-2026')
    const german = itemFrom(call((xml) => xml.replaceAll('languageID="ENG"', 'languageID="DEU"')))
    expect(german.title_en).to.equal(null)
  })

  it('mark symbolic values', () => {
    const valued = (amount: string) =>
      call((xml) => twoLots(xml).replaceAll('currencyID="EUR">100', `currencyID="EUR">${amount}`))
    expect(itemFrom(valued('1')).estimated_value).to.include({ amount: '2', symbolic: true })
    expect(itemFrom(valued('50000')).estimated_value).to.include({ symbolic: false })
  })
})

describe('tenders: results', () => {
  const resultOf = (lots: string) =>
    call(
      (xml) =>
        xml.replace('competition">cn-standard', 'result">can-standard').replace(
          '</efac:Organizations>',
          `</efac:Organizations><efac:NoticeResult>
<efbc:OverallMaximumFrameworkContractsAmount currencyID="EUR">900
</efbc:OverallMaximumFrameworkContractsAmount>${lots}</efac:NoticeResult>`,
        ),
      '2-2026',
      '2026-03-05',
      '1-2026',
    )
  const lotResult = (n: number, code = 'selec-w', lot = 'LOT-0001') =>
    `<efac:LotResult><cbc:ID>RES-${n}</cbc:ID><cbc:TenderResultCode>${code}</cbc:TenderResultCode>
<efac:FrameworkAgreementValues><cbc:MaximumValueAmount currencyID="EUR">300</cbc:MaximumValueAmount>
</efac:FrameworkAgreementValues><efac:TenderLot><cbc:ID>${lot}</cbc:ID></efac:TenderLot>
</efac:LotResult>`

  it('keep every result of a lot, and the maxima of frameworks', () => {
    const { award, lots, status } = itemFrom(call(), resultOf(lotResult(1) + lotResult(2)))
    expect(status).to.equal('awarded')
    expect(award!.lots).to.have.length(2)
    expect(award!.framework_max).to.include({ amount: '900' })
    expect(lots[0]!.award!.framework_max).to.include({ amount: '600' })
  })

  it('report estimates of frameworks, maxima of groups of lots, and symbolic totals', () => {
    const values = `<cbc:TotalAmount currencyID="EUR">1</cbc:TotalAmount>
<efbc:OverallApproximateFrameworkContractsAmount currencyID="EUR">800
</efbc:OverallApproximateFrameworkContractsAmount>
<efac:GroupFramework><efbc:GroupFrameworkMaximumValueAmount currencyID="EUR">700
</efbc:GroupFrameworkMaximumValueAmount><efac:TenderLot><cbc:ID>GLO-0001</cbc:ID>
</efac:TenderLot></efac:GroupFramework>`
    const { award } = itemFrom(call(), resultOf(values + lotResult(1)))
    expect(award!.total).to.include({ amount: '1', symbolic: true })
    expect(award!.framework_estimated).to.include({ amount: '800' })
    expect(award!.groups[0]).to.deep.include({ group_id: 'GLO-0001', framework_estimated: null })
    expect(award!.groups[0]!.framework_max).to.include({ amount: '700' })
  })

  it('make a voluntary notice of a direct award awarded if it names a winner', () => {
    const direct = resultOf(lotResult(1))
    const [first] = direct.result!.lots
    const won = { ...first!, status: null, winners: [{ name: 'Fictional Ltd', country: null }] }
    const veat = { ...direct, kind: 'dir-awa-pre', changes: null } as const
    const named = { ...veat, result: { ...direct.result!, lots: [won] } }
    const item = itemFrom(named)
    expect([item.status, item.lots[0]!.status]).to.deep.equal(['awarded', 'awarded'])
    expect(itemFrom({ ...veat, result: null }).status).to.equal('closed')
  })

  it('name the winner of a result that links no contract, if it lists one tender', () => {
    const tender = (n: number) => `<efac:LotTender><cbc:ID>TEN-${n}</cbc:ID></efac:LotTender>`
    const parts = `<efac:LotTender><cbc:ID>TEN-1</cbc:ID><efac:TenderingParty><cbc:ID>TPA-1</cbc:ID>
</efac:TenderingParty></efac:LotTender><efac:TenderingParty><cbc:ID>TPA-1</cbc:ID><efac:Tenderer>
<cbc:ID>ORG-0001</cbc:ID></efac:Tenderer></efac:TenderingParty>`
    const winnersOf = (tenders: string, code = 'selec-w') => {
      const lot = lotResult(1, code).replace('<efac:TenderLot>', `${tenders}<efac:TenderLot>`)
      return itemFrom(call(), resultOf(lot + parts)).award!.winners.map(({ name }) => name)
    }
    expect(winnersOf(tender(1))).to.deep.equal(['Fictional Grid Office'])
    expect(winnersOf(tender(1) + tender(2))).to.deep.equal([])
    expect(winnersOf(tender(1), 'clos-nw')).to.deep.equal([])
  })

  it('name the earlier notices that are not part of the call', () => {
    const planned = { ...call(), previous: ['7-2025', '8-2025'] }
    expect(itemFrom(planned).previous_notices).to.deep.equal(['7-2025', '8-2025'])
  })

  it('make a call awarded if one of its lots is', () => {
    const both = lotResult(1) + lotResult(2, 'open-nw', 'LOT-0002')
    const item = itemFrom(call(twoLots), resultOf(both))
    expect(item.status).to.equal('awarded')
    expect(item.award!.partial).to.equal(true)
  })

  it('report the changes that they declare', () => {
    const { changes } = deriveFrom(call(), resultOf(lotResult(1)))
    expect(changes.map(({ event }) => event)).to.deep.equal(['awarded', 'correction_other'])
  })
})

describe('tenders: search hits', () => {
  const hit = {
    'publication-number': '1-2026',
    'publication-date': '2026-03-02+01:00',
    'form-type': 'competition',
    'notice-identifier': uuidOf('1-2026'),
    'title-proc': { spa: ['Suministro ficticio'] },
    'estimated-value-proc': '5000',
    'estimated-value-cur-proc': 'EUR',
    'document-url-lot': ['https://docs.example/1'],
    'classification-cpv': ['09310000'],
  }

  it('have the value, title, identifier and documents that the search returns, and no lot', () => {
    const [notice] = readHits(JSON.stringify({ notices: [hit] })) as Notice[]
    expect(notice).to.include({ noticeId: uuidOf('1-2026'), language: 'spa' })
    const item = itemFrom(notice!)
    expect(item).to.include({
      title: 'Suministro ficticio',
      title_lang: 'spa',
      documents_url: 'https://docs.example/1',
    })
    expect(item.estimated_value).to.include({ amount: '5000', currency: 'EUR' })
    expect(item.lots).to.deep.equal([])
  })

  it('have the title in the language of the buyer, and an English one', () => {
    const both = { ...hit, 'title-proc': { eng: ['Supply'], spa: ['Suministro'] } }
    const named = { ...both, 'buyer-name': { spa: ['Ayuntamiento ficticio'] } }
    const [notice] = readHits(JSON.stringify({ notices: [named] })) as Notice[]
    const { title, title_lang, title_en } = itemFrom(notice!)
    expect([title, title_lang, title_en]).to.deep.equal(['Suministro', 'spa', 'Supply'])
  })

  it('never count as a change of the document that they repeat', () => {
    const later = { ...hit, 'publication-number': '2-2026', 'notice-version': '02' }
    const [repeated] = readHits(JSON.stringify({ notices: [later] })) as Notice[]
    expect(deriveFrom(call(twoLots), repeated!).changes).to.deep.equal([])
  })

  it('are read although another hit is not', () => {
    const read = readHits(JSON.stringify({ notices: [null, {}, hit] }))
    expect(read.map((each) => each instanceof Error)).to.deep.equal([true, true, false])
  })
})
