import { userInfo } from 'node:os'
import { expect } from 'chai'
import { ledgerCommand } from '../../../server/commands/ledger/index.ts'
import type { Person } from '../../support/person.ts'
import { useHub } from '../../support/suite.ts'
import { createAdmin } from '../rest/finance/fixture.ts'
import { createStaff, dataOf, type Json } from './fixture.ts'

describe('an entry posted by command', () => {
  const admin = createAdmin()
  const hub = useHub({ config: { admins: [admin.wallet], jobs: false } })
  let fay: Person
  before(async () => {
    fay = await createStaff(hub(), admin, 'fay@house.example', 'finance')
  })

  it('names the operating system user in journal and audit log, and is on /finance', async () => {
    const text =
      'adjust --debit expenses:free-tier --credit equity:opening --amount 250 --author olga'
    const code = await ledgerCommand(
      async () => hub().hub.financePool,
      [...text.split(' '), '--reason', 'after an outage'],
      () => {},
    )
    expect(code).to.equal(0)
    const user = `os:${userInfo().username}`
    const [line, ...others] = dataOf(await fay.ask('/v1/admin/audit?role=operator'))
    expect(others).to.deep.equal([])
    expect(line).to.include({ act: 'entry.adjust', name: 'olga', role: 'operator', via: user })
    const { body } = await fay.ask(`/v1/finance/entries/${String(line!['subject'])}`)
    const [entry] = body['entries'] as Json[]
    expect(entry!['meta']).to.include({ author: `olga (${user})`, reason: 'after an outage' })
    expect((await fay.ask('/v1/finance/overview')).body).to.include({ commands: 1, refusals: 0 })
    const page = await fay.ask('/finance', { headers: { accept: 'text/html' } })
    expect(page.text).to.include('Acts by command').and.to.include('after an outage')
    expect(page.text).to.include(user)
  })
})
