import { expect } from 'chai'
import { derive } from '../../../plugins/tenders/domain/derive.ts'
import { correction, corrigendum, legacyNotice } from '../../support/legacy-notice.ts'
import { readPublished } from './support.ts'

const date = (day: string): string => `<DATE>${day}</DATE><TIME>12:00</TIME>`
const value = (amount: string): string => `<VALUE CURRENCY="EUR">${amount}</VALUE>`

const changesOf = (...changes: string[]) => {
  const body = corrigendum(changes.join(''))
  const notice = readPublished(legacyNotice({ number: '101-2021', form: 'F14', body }))
  return derive([{ notice, sha256: 'x' }]).changes
}

describe('tenders: ids of changes', () => {
  it('are distinct for different changes of one section without a lot', () => {
    const one = correction('II.1.5)', value('100'), value('200'))
    const two = correction('II.1.5)', value('300'), value('400'))
    const changes = changesOf(one, two)
    expect(changes).to.have.length(2)
    expect(new Set(changes.map(({ id }) => id)).size).to.equal(2)
    // An id does not depend on what else a notice changes.
    expect(changesOf(one)[0]!.id).to.equal(changes[0]!.id)
  })

  it('drop a change that a notice repeats, in the same or another section', () => {
    const [old, now] = [date('2021-02-26'), date('2021-03-05')]
    expect(
      changesOf(correction('IV.2.2)', old, now), correction('IV.2.2)', old, now)),
    ).to.have.length(1)
    expect(
      changesOf(correction('IV.2.2)', old, now), correction('IV.3.4)', old, now)),
    ).to.have.length(1)
  })

  it('keep a repetition of the second of two different changes single', () => {
    const one = correction('II.1.5)', value('100'), value('200'))
    const two = correction('II.1.5)', value('300'), value('400'))
    expect(changesOf(one, two, two, one)).to.have.length(2)
  })
})
