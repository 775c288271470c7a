import { expect } from 'chai'
import type { Change } from '../../../plugins/tenders/domain/change.ts'
import { derive } from '../../../plugins/tenders/domain/derive.ts'
import type { Amount } from '../../../plugins/tenders/model.ts'
import { deriveFrom, describeReal, documentAt, readPublished } from './support.ts'

const at = (value: Change['before']): string | null | undefined =>
  value?.type === 'instant' ? value.at : undefined
const texts = ({ evidence }: Change): string => evidence.official_text.map((t) => t.text).join(' ')

describeReal('tenders: changes between real notices', () => {
  it('C1 detects one extended deadline by the UUID of the earlier version', () => {
    const { changes } = deriveFrom('679934-2023', '747033-2023')
    expect(changes).to.have.length(1)
    const [change] = changes
    expect(change).to.include({
      signal: 'deadline',
      event: 'deadline_extended',
      verification_status: 'verified',
      lot_id: 'LOT-0000',
    })
    expect([at(change!.before), at(change!.after)]).to.deep.equal([
      '2023-12-11T13:00+02:00',
      '2024-01-03T13:00+02:00',
    ])
    expect(change!.commercial_impact).to.include({ days_delta: 23, level: 'high' })
    expect(change!.affected_notice_ids).to.deep.equal(['679934-2023', '747033-2023'])
    expect(change!.evidence.reference).to.equal('23e05b0b-481f-49f3-94ca-ba24c3b19c36-01')
    expect(change!.notice_ids.map((id) => id?.slice(-2))).to.deep.equal(['01', '02'])
  })

  it('C2 detects one changed address by publication number; a group of lots is not a lot', () => {
    const { changes, tenders } = deriveFrom('137599-2024', '143238-2024')
    expect(changes.map(({ event, signal }) => [event, signal])).to.deep.equal([
      ['submission_url_changed', 'documents'],
    ])
    const [change] = changes
    expect(change!.verification_status).to.equal('verified')
    expect(change!.before).to.include({ raw: 'www.Fountainfuel.com' })
    expect(change!.after).to.include({ raw: 'https://Fountainfuel.com/en/tender' })
    expect(texts(change!)).to.equal('GR-lot-submissionmethod URL changed')
    const [tender] = tenders
    expect(tender!.lots.map((lot) => lot.lot_id)).to.deep.equal(['LOT-0001'])
    const [deadline] = tender!.lots[0]!.deadlines
    expect(deadline).to.include({ kind: 'expressions', at: '2024-03-20T20:03:20+01:00' })
  })

  it('C3 reports a withdrawn value as null, never as zero', () => {
    const { changes } = deriveFrom('402363-2023', '599641-2023')
    const values = changes.filter(({ signal }) => signal === 'value')
    expect(values.map(({ event, lot_id, after }) => [event, lot_id, after])).to.deep.equal([
      ['value_removed', null, null],
      ['value_removed', 'LOT-0001', null],
    ])
    for (const { before } of values) {
      expect(before).to.deep.equal({ type: 'amount', amount: '50000000', currency: 'EUR' })
    }
    const others = changes.map(({ signal }) => signal)
    expect(others).to.not.include.members(['documents'])
    expect(others).to.not.include('deadline')
  })

  it('C4 detects the new document address and no change of the deadline', () => {
    const { changes, tenders } = deriveFrom('309890-2023', '326053-2023')
    const change = changes.find(({ event }) => event === 'documents_url_changed')!
    expect(change.verification_status).to.equal('verified')
    expect(change.before)
      .to.have.property('url')
      .that.matches(/cftId=14194$/)
    expect(change.after)
      .to.have.property('url')
      .that.matches(/cftId=14496$/)
    expect(changes.some(({ signal }) => signal === 'deadline')).to.equal(false)
    expect(tenders[0]!.lots[0]!.deadlines[0]!.at).to.equal('2023-07-11T16:00+02:00')
  })

  it('C5 follows a chain across a missing version, in any order of arrival', () => {
    const numbers = ['511099-2023', '368245-2023', '406116-2023']
    const { changes, tenders } = deriveFrom(...numbers)
    const extended = changes.filter(({ event }) => event === 'deadline_extended')
    expect(extended.map(({ before, after }) => [at(before), at(after)])).to.deep.equal([
      ['2023-07-31T09:00+03:00', '2023-08-31T09:00+03:00'],
      ['2023-08-31T09:00+03:00', '2023-09-27T09:00+03:00'],
    ])
    expect(extended.map((c) => c.commercial_impact.days_delta)).to.deep.equal([31, 27])
    expect(tenders.map((t) => t.publication_number)).to.deep.equal(['511099-2023'])
    expect(deriveFrom(...numbers.toReversed())).to.deep.equal({ changes, tenders })
  })

  it('C6 declares a correction without its predecessor; reads doubly escaped links', () => {
    const { changes, tenders } = deriveFrom('185566-2024')
    expect(changes.map((c) => c.verification_status)).to.deep.equal(['declared'])
    expect(texts(changes[0]!)).to.include('Au lieu du 03/04/2024 à 18h00')
    expect(texts(changes[0]!)).to.include('Lire 22/04/2024 à 12h00')
    const [tender] = tenders
    expect(tender!.lots[0]!.deadlines[0]!.at).to.equal('2024-04-22T12:00+02:00')
    expect(tender!.estimated_value).to.include({ amount: '25000000', currency: 'EUR' })
    expect(tender).to.include({ country: 'FRA', cpv_main: '71321200' })
    expect(tender!.cpv_additional).to.include('09323000')
    expect(tender!.documents_url).to.include('&type=DCE&IDM=1421199')
    expect(JSON.stringify(tenders)).to.not.include('&amp;')
  })

  it('C11 omits unpublished values; nothing is below zero', () => {
    const all = ['530453-2023', '395466-2024'].map((number) => deriveFrom(number).tenders[0]!)
    expect(all.map(({ award }) => award!.winners.map(({ name }) => name))).to.deep.equal([
      ['AS Harju Elekter'],
      ['ABB Aktsiaselts'],
    ])
    expect(all[0]!.award!.lots).to.have.length(4)
    for (const { award } of all) {
      const values: (Amount | null)[] = [award!.total, ...award!.lots.map(({ value }) => value)]
      for (const value of values) expect(value).to.include({ amount: null, withheld: true })
    }
    expect(JSON.stringify(all)).to.not.match(/"-\d/)
  })

  it('C13 treats a canceled notice as a canceled tender', () => {
    const { changes, tenders } = deriveFrom('135084-2024')
    expect(changes[0]).to.include({ event: 'cancelled', signal: 'status', country: 'SRB' })
    expect(tenders[0]).to.include({ state: 'cancelled', country: 'SRB' })
    expect(tenders[0]!.relevance.label).to.equal(null)
    expect(deriveFrom('215499-2024').tenders[0]!.relevance.label).to.equal(null)
  })

  it('C14 treats no result of its own call as a correction; text can contradict', () => {
    const result = deriveFrom('788032-2023')
    expect(result.changes).to.deep.equal([])
    expect(result.tenders[0]).to.include({ kind: 'result', state: 'awarded' })
    const { changes, tenders } = deriveFrom('654124-2024')
    expect(changes.map((c) => c.verification_status)).to.deep.equal(['conflicting'])
    expect(changes[0]!.evidence.reference).to.equal('85573911-8480-4cb4-aca8-7372462de6a8-01')
    expect(texts(changes[0]!)).to.include('Pour les lots 9 et 12 uniquement')
    const deadlines = tenders[0]!.lots.map((lot) => lot.deadlines[0]!.at)
    expect(deadlines).to.deep.equal(Array(13).fill('2024-11-13T15:00+01:00'))
  })

  it('C15 reads both values from F14 itself and invents no offset', () => {
    const notice = readPublished(documentAt('legacy/057341-2021.xml'))
    const { changes } = derive([{ notice, sha256: 'x' }])
    expect(changes).to.have.length(1)
    const [change] = changes
    expect(change).to.include({ event: 'deadline_extended', verification_status: 'verified' })
    expect(change!.evidence.method).to.equal('f14_old_new')
    expect(change!.before).to.include({ at: null, local: '2021-02-26T12:00' })
    expect(change!.after).to.include({ at: null, local: '2021-03-05T12:00' })
    expect(change!.country).to.equal('COG')
    expect([notice.cpv.main, ...notice.cpv.additional]).to.include('31000000')
  })
})
