import { userInfo } from 'node:os'
import { expect } from 'chai'
import { ledgerCommand } from '../../../server/commands/ledger/index.ts'
import type { Person } from '../../support/person.ts'
import { useHub } from '../../support/suite.ts'
import { createAdmin } from '../rest/finance/fixture.ts'
import { createStaff, dataOf } from './fixture.ts'

describe('an act by command', () => {
  const admin = createAdmin()
  const hub = useHub({ config: { admins: [admin.wallet] } })
  let fay: Person
  before(async () => {
    fay = await createStaff(hub(), admin, 'fay@house.example', 'finance')
  })

  it('is in the audit log with the user of the operating system, and on /finance', async () => {
    const text = 'export --format csv --author olga --reason'
    const code = await ledgerCommand(
      async () => hub().hub.financePool,
      [...text.split(' '), 'after an outage'],
      () => {},
    )
    expect(code).to.equal(0)
    const user = `os:${userInfo().username}`
    const [line, ...others] = dataOf(await fay.ask('/v1/admin/audit?role=operator'))
    expect(others).to.deep.equal([])
    expect(line).to.include({ act: 'export.start', name: 'olga', role: 'operator', via: user })
    expect((await fay.ask('/v1/finance/overview')).body).to.include({ commands: 1, refusals: 0 })
    const page = await fay.ask('/finance', { headers: { accept: 'text/html' } })
    expect(page.text).to.include('Changes from the command line').and.to.include('after an outage')
    expect(page.text).to.include(user)
  })
})
