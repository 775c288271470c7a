import { expect } from 'chai'
import { readConfig } from '../../../core/config.ts'
import { ask } from '../../support/ask.ts'
import { readOpenApi } from '../../support/openapi.ts'
import { cookieOf, type Person, personWith, tokenIn } from '../../support/person.ts'
import { useMailHub } from '../../support/suite.ts'
import { createAdmin } from '../rest/finance/fixture.ts'
import { createStaff, createVisitor, expectRefused } from './fixture.ts'

const reason = 'a test'
const CODE = 'fresh_authentication_required'
const FORM = 'application/x-www-form-urlencoded'

describe('a stolen session or key of staff', () => {
  const admin = createAdmin()
  const { hub, mailbox } = useMailHub({
    config: { staff: { ...readConfig({}).staff, freshKeys: true }, admins: [admin.wallet] },
  })
  let ann: Person
  before(async () => {
    ann = await createStaff(hub(), admin, 'ann@house.example', 'admin')
  })
  /** Moves all sign-ins and registrations into the past. */
  const age = (minutes: number) =>
    hub().database.admin.query(`UPDATE hub.session SET
        created_at = created_at - interval '${minutes} min';
      UPDATE hub.api_key SET signed_at = signed_at - interval '${minutes} min'`)
  const grant = { name: 'ann@house.example', role: 'finance', reason }
  const pause = (by: Person) => by.ask('/v1/finance/outgoing', { body: { paused: true, reason } })

  it('reads, but changes nothing ten minutes after the sign-in (A204)', async () => {
    expect((await pause(ann)).status, 'just signed in').to.equal(200)
    const key = await admin.key(hub())
    const byKey = () => ask(hub().url, '/v1/admin/roles', { key, body: grant })
    expect((await byKey()).status, 'just registered').to.be.within(200, 201)
    await age(11)
    expect((await ann.ask('/v1/finance/overview')).status).to.equal(200)
    expectRefused(await pause(ann), 401, CODE)
    expectRefused(await ann.ask('/v1/admin/roles', { body: grant }), 401, CODE)
    expectRefused(await byKey(), 401, CODE)
    const made = await ann.ask('/v1/keys', { body: {} })
    const own = String(made.body['api_key'])
    expect((await ask(hub().url, '/v1/finance/overview', { key: own })).status).to.equal(200)
    const late = await ask(hub().url, '/v1/admin/roles', { key: own, body: grant })
    expectRefused(late, 401, CODE)
    const registered = await hub().agent()
    const wrong = await ask(hub().url, '/v1/admin/roles', { key: registered.apiKey, body: grant })
    expectRefused(wrong, 403, 'admin_only')
  })

  it('is refused each change by each route of staff', async () => {
    const { body } = await readOpenApi(hub().url)
    const paths = body['paths'] as Record<string, Record<string, { responses: object }>>
    let changes = 0
    for (const [path, operations] of Object.entries(paths)) {
      if (!/^\/v1\/(?:admin|finance)\//.test(path)) continue
      for (const method of Object.keys(operations).filter((name) => name !== 'get')) {
        const url = path.replaceAll(/\{\w+\}/g, '1')
        const response = await ann.ask(url, { method: method.toUpperCase(), body: {} })
        expectRefused(response, 401, CODE)
        changes += 1
      }
    }
    expect(changes, 'routes').to.be.above(20)
  })

  it('leads through a new sign-in back to the form, with what was typed', async () => {
    const html = { accept: 'text/html', 'content-type': FORM }
    const typed = 'act=grant&name=fay%40house.example&role=finance&reason=They+work+here+%26+now'
    const refused = await ann.ask('/admin/roles', { body: typed, headers: html })
    expect([refused.status, refused.headers['location']]).to.deep.equal([303, '/sign-in/again'])
    const kept = cookieOf(refused)
    expect(kept).to.match(/^hub_form=/)
    const cookie = `${ann.cookie}; ${kept}`
    const again = await ann.ask('/sign-in/again', { headers: { ...html, cookie } })
    expect(again.text).to.include(ann.email).and.to.include('/admin/roles')
    const seen = mailbox().mails.length
    const sent = await ann.ask('/sign-in/again', { body: 'act=ask', headers: { ...html, cookie } })
    expect(sent.headers['location']).to.equal('/sign-in/again?done=sent')
    const token = tokenIn((await mailbox().next(ann.email, seen)).text)
    const confirmed = await ann.ask(`/sign-in/confirm?token=${token}`, {
      body: `act=confirm&token=${token}`,
      headers: { ...html, cookie },
    })
    expect([confirmed.status, confirmed.headers['location']]).to.deep.equal([303, '/admin/roles'])
    expect((await ann.ask('/v1/account')).status, 'the old session ended').to.equal(401)
    const fresh = personWith(hub().url, ann.email, cookieOf(confirmed))
    const form = await fresh.ask('/admin/roles', {
      headers: { ...html, cookie: `${fresh.cookie}; ${kept}` },
    })
    expect(form.text).to.include('What you typed was kept.')
    expect(form.text).to.include('value="fay@house.example"')
    expect(form.text).to.match(/value="They work here &\S+; now"/)
    expect(String(form.headers['set-cookie'])).to.match(/hub_form=; .*Max-Age=0/)
    expect((await pause(fresh)).status).to.equal(200)
    ann = fresh
  })

  it('ends twelve hours after the sign-in; sessions of others go on', async () => {
    const visitor = await createVisitor(hub(), 'vera@example.test')
    await age(12 * 60 + 1)
    expectRefused(await ann.ask('/v1/account'), 401, 'session_required')
    expect((await visitor.ask('/v1/account')).status).to.equal(200)
    const page = await ann.ask('/admin/roles', {
      body: 'act=revoke&id=1&reason=late',
      headers: { accept: 'text/html', 'content-type': FORM },
    })
    expect([page.headers['location'], cookieOf(page).slice(0, 9)]).to.deep.equal([
      '/sign-in',
      'hub_form=',
    ])
  })
})
