import { expect } from 'chai'
import { ask } from '../../support/ask.ts'
import { useHub } from '../../support/suite.ts'
import { createAdmin } from '../rest/finance/fixture.ts'
import { createStaff, createVisitor } from '../staff/fixture.ts'

const READ_ONLY = /Your role \((\w+)\) can read this page\.\s+Changes need the role ([\w ]+), which/

describe('pages with forms that a role may not use', () => {
  const admin = createAdmin()
  const hub = useHub({ config: { admins: [admin.wallet] } })
  const noteOn = async (path: string, cookie: string) => {
    const { status, text } = await ask(hub().url, path, {
      headers: { accept: 'text/html', cookie },
    })
    expect(status, path).to.equal(200)
    return READ_ONLY.exec(text)?.slice(1)
  }

  it('say so above the page, and which role changes need', async () => {
    const { cookie, email } = await createVisitor(hub(), 'auditor@house.example')
    const grant = { name: email, role: 'auditor', reason: 'the yearly audit' }
    const key = await admin.key(hub())
    expect((await ask(hub().url, '/v1/admin/roles', { key, body: grant })).status).to.equal(201)
    for (const path of ['/finance/adjustments', '/finance/periods', '/finance/conversion']) {
      expect(await noteOn(path, cookie), path).to.deep.equal(['auditor', 'finance or admin'])
    }
    for (const path of ['/finance', '/finance/exports', '/finance/audit', '/account/keys']) {
      expect(await noteOn(path, cookie), path).to.equal(undefined)
    }
    const fay = await createStaff(hub(), admin, 'fay@house.example', 'finance')
    expect(await noteOn('/finance/adjustments', fay.cookie)).to.equal(undefined)
    expect(await noteOn('/admin', fay.cookie)).to.deep.equal(['finance', 'admin'])
  })

  it('say what a month looks like if a form of finance got another text', async () => {
    const fay = await createStaff(hub(), admin, 'fred@house.example', 'finance')
    const wrong = { month: '2026-13', price: '3000', source: 'x', reason: 'a test' }
    const type = 'application/x-www-form-urlencoded'
    const headers = { accept: 'text/html', 'content-type': type }
    const body = new URLSearchParams({ act: 'revalue', ...wrong }).toString()
    const { status, text } = await fay.ask('/finance/conversion', { body, headers })
    expect(status).to.equal(422)
    expect(text).to.include('Enter a month, such as 2026-11.')
  })

  it('verify the audit log for an auditor, whose page has no such note', async () => {
    const { cookie } = await createVisitor(hub(), 'auditor@house.example')
    const type = 'application/x-www-form-urlencoded'
    const { origin } = new URL(hub().url)
    const headers = { accept: 'text/html', cookie, origin, 'content-type': type }
    const proved = await ask(hub().url, '/finance/audit', { body: 'act=prove', headers })
    expect(proved.text).to.include('Verified: no line was changed')
  })
})
