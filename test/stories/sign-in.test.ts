import { expect } from 'chai'
import { sessionCookie } from '../../server/rest/authentication.ts'
import { ask } from '../support/ask.ts'
import { eventually } from '../support/eventually.ts'
import { cookieOf, personWith, signIn, tokenIn } from '../support/person.ts'
import { useMailHub } from '../support/suite.ts'

describe('sign-in by email', () => {
  const { hub, mailbox } = useMailHub()

  let people = 0
  const newAddress = () => `person-${++people}@example.test`
  const request = (email: string) => ask(hub().url, '/v1/account/sign-in', { body: { email } })
  const confirm = (token: string) => ask(hub().url, '/v1/account/confirm', { body: { token } })
  const linkTo = async (email: string, seen = 0) => {
    expect((await request(email)).status).to.equal(202)
    return tokenIn((await mailbox().next(email, seen)).text)
  }

  it('is not used up by viewing the link: it signs in once, by POST (A053)', async () => {
    const token = await linkTo(newAddress())
    for (const method of ['GET', 'HEAD', 'GET']) {
      const { status, headers } = await ask(hub().url, `/sign-in/confirm?token=${token}`, {
        method,
      })
      expect(status, method).to.equal(200)
      expect(headers['content-type']).to.include('text/html')
      expect(headers).to.not.have.property('set-cookie')
      expect(headers['referrer-policy'], 'the token stays here').to.equal('same-origin')
    }
    const first = await confirm(token)
    expect(first.status, first.text).to.equal(201)
    const account = await personWith(hub().url, '', cookieOf(first)).ask('/v1/account')
    expect(account.status).to.equal(200)
    for (const again of [confirm(token), ask(hub().url, `/sign-in/confirm?token=${token}`)]) {
      const { status, body } = await again
      expect([status, body['code']]).to.deep.equal([410, 'link_used'])
    }
  })

  it('opens one session for twenty concurrent uses of a link', async () => {
    const email = newAddress()
    const token = await linkTo(email)
    const responses = await Promise.all(Array.from({ length: 20 }, () => confirm(token)))
    const statuses = responses.map(({ status }) => status).toSorted((a, b) => a - b)
    expect(statuses).to.deep.equal([201, ...Array.from({ length: 19 }, () => 410)])
    const { rows } = await hub().hub.pool.query(
      `SELECT count(*)::integer AS sessions FROM hub.session s
       JOIN hub.person p ON p.principal = s.person WHERE p.email = $1`,
      [email],
    )
    expect(rows).to.deep.equal([{ sessions: 1 }])
  })

  it('expires after 15 minutes, by the clock of the database', async () => {
    const token = await linkTo(newAddress())
    const sql = `SELECT extract(epoch FROM expires_at - created_at)::integer AS s
      FROM hub.magic_link ORDER BY created_at DESC LIMIT 1`
    expect((await hub().hub.pool.query(sql)).rows).to.deep.equal([{ s: 900 }])
    await hub().hub.pool.query('UPDATE hub.magic_link SET expires_at = now() WHERE used_at IS NULL')
    const { status, body } = await confirm(token)
    expect([status, body['code']]).to.deep.equal([410, 'link_expired'])
    const unknown = await confirm('x'.repeat(43))
    expect([unknown.status, unknown.body['code']]).to.deep.equal([400, 'link_unknown'])
  })

  it('has one account per address, and sign-up looks like sign-in', async () => {
    const email = newAddress()
    const first = await request(email)
    const token = tokenIn((await mailbox().next(email)).text)
    const one = await personWith(hub().url, email, cookieOf(await confirm(token))).ask(
      '/v1/account',
    )
    const second = await request(email.toUpperCase())
    expect([second.status, second.body]).to.deep.equal([first.status, first.body])
    const again = tokenIn((await mailbox().next(email, 1)).text)
    const two = await personWith(hub().url, email, cookieOf(await confirm(again))).ask(
      '/v1/account',
    )
    expect(two.body['account_id']).to.equal(one.body['account_id'])
    expect(one.body['session_id']).to.not.equal(two.body['session_id'])
  })

  it('sends to one address, whatever the field contains', async () => {
    const before = mailbox().mails.length
    for (const email of [
      'a@example.test, b@example.test',
      'a@example.test;b@example.test',
      'a@example.test\r\nBcc: b@example.test',
      'Eve <a@example.test>',
      'a@example.test b@example.test',
      '"a,b"@example.test',
      `${'a'.repeat(250)}@example.test`,
      'nobody',
      '',
    ]) {
      const { status, body } = await request(email)
      expect([status, body['code']], email).to.deep.equal([422, 'validation_failed'])
    }
    const email = newAddress()
    await linkTo(email)
    expect(
      mailbox()
        .mails.slice(before)
        .map(({ to }) => to),
    ).to.deep.equal([[email]])
  })

  it('keeps link and session tokens out of tables and logs', async () => {
    const email = newAddress()
    const token = await linkTo(email)
    const session = cookieOf(await confirm(token)).split('=')[1] ?? ''
    expect(session).to.have.length(43)
    const { rows } = await hub().database.admin.query<{ dump: string }>(
      `SELECT coalesce(string_agg(t, ' '), '') AS dump FROM (
         SELECT l::text AS t FROM hub.magic_link l UNION ALL SELECT s::text FROM hub.session s
         UNION ALL SELECT m::text FROM hub.mail m
         UNION ALL SELECT j.data::text FROM pgboss.job j) d`,
    )
    expect(rows[0]?.dump).to.include(email)
    for (const secret of [token, session]) {
      expect(rows[0]?.dump).to.not.include(secret)
      expect(hub().logged()).to.not.include(secret)
    }
  })

  it('retries an email that the server refuses', async () => {
    const email = newAddress()
    mailbox().refuse(1)
    expect((await request(email)).status).to.equal(202)
    const { pool } = hub().hub
    const sql = `SELECT attempts, next_at BETWEEN now() AND now() + interval '6 s' AS soon
      FROM hub.mail WHERE recipient = $1`
    await eventually(async () => (await pool.query(sql, [email])).rows[0]?.soon === true)
    expect((await pool.query(sql, [email])).rows).to.deep.equal([{ attempts: 1, soon: true }])
    expect(hub().logged()).to.include('failed to send a mail')
    await pool.query('UPDATE hub.mail SET next_at = now() WHERE recipient = $1', [email])
    const { text } = await mailbox().next(email)
    expect((await confirm(tokenIn(text))).status).to.equal(201)
    const isOut = async () => (await pool.query(sql, [email])).rowCount === 0
    await eventually(isOut) // of the job queue
  })

  it('limits an address to five emails an hour without revealing it', async () => {
    const email = newAddress()
    const responses = []
    for (let i = 0; i < 7; i++) responses.push(await request(email))
    expect(new Set(responses.map(({ status, text }) => `${status} ${text}`)).size).to.equal(1)
    await mailbox().next(email, 4)
    await linkTo(newAddress())
    expect(mailbox().mails.filter(({ to }) => to.includes(email))).to.have.length(5)
  })

  it('lists sessions and ends one or all', async () => {
    const email = newAddress()
    const [desk, phone, other] = [
      await signIn(hub().url, mailbox(), email),
      await signIn(hub().url, mailbox(), email),
      await signIn(hub().url, mailbox(), newAddress()),
    ]
    const listed = (await desk.ask('/v1/sessions')).body['data'] as Record<string, unknown>[]
    expect(listed.map(({ current }) => current)).to.deep.equal([false, true])
    const stranger = `/v1/sessions/${String(listed[0]?.['session_id'])}`
    expect((await other.ask(stranger, { method: 'DELETE' })).status).to.equal(404)
    const left = await phone.ask('/v1/sessions/current', { method: 'DELETE' })
    expect(String(left.headers['set-cookie'])).to.match(/^hub_session=; .*Max-Age=0/)
    expect((await phone.ask('/v1/account')).body['code']).to.equal('session_required')
    expect((await desk.ask('/v1/account')).status).to.equal(200)
    const again = await signIn(hub().url, mailbox(), email)
    const all = await desk.ask('/v1/sessions', { method: 'DELETE' })
    expect(all.body).to.deep.equal({ ended: 2 })
    for (const each of [desk, again]) expect((await each.ask('/v1/account')).status).to.equal(401)
    expect((await other.ask('/v1/account')).status, 'of somebody else').to.equal(200)
  })

  it('ends a session after 30 days', async () => {
    const person = await signIn(hub().url, mailbox(), newAddress())
    const { pool } = hub().hub
    const account = await person.ask('/v1/account')
    const id = account.body['session_id']
    const sql = `SELECT (expires_at - created_at)::text AS life FROM hub.session WHERE id = $1`
    expect((await pool.query(sql, [id])).rows).to.deep.equal([{ life: '30 days' }])
    await pool.query('UPDATE hub.session SET expires_at = now() WHERE id = $1', [id])
    expect((await person.ask('/v1/account')).status).to.equal(401)
  })

  it('accepts the cookie only from its own pages (A054)', async () => {
    const person = await signIn(hub().url, mailbox(), newAddress())
    const make = (headers: Record<string, string>) =>
      ask(hub().url, '/v1/keys', { body: {}, headers: { cookie: person.cookie, ...headers } })
    const keys = async () => {
      const { body } = await person.ask('/v1/keys')
      return (body['data'] as unknown[]).length
    }
    const foreign: readonly Record<string, string>[] = [
      { origin: 'https://evil.example' },
      { origin: 'null' },
      { origin: hub().url.replace(/:\d+$/, ':1') },
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
    ]
    for (const headers of foreign) {
      const { status, body } = await make(headers)
      expect([status, body['code']], JSON.stringify(headers)).to.deep.equal([403, FOREIGN])
      const link = await ask(hub().url, '/v1/account/confirm', {
        body: { token: 'x'.repeat(43) },
        headers,
      })
      expect(link.body['code'], 'nobody is signed in by another site').to.equal(FOREIGN)
    }
    expect(await keys()).to.equal(0)
    expect((await make({ origin: new URL(hub().url).origin })).status).to.equal(201)
    expect((await make({})).status, 'no browser').to.equal(201)
    expect(await keys()).to.equal(2)
  })

  it('works with the form of the page and shows errors to a browser', async () => {
    const token = await linkTo(newAddress())
    const origin = new URL(hub().url).origin
    const response = await ask(hub().url, `/sign-in/confirm?token=${token}`, {
      body: `act=confirm&token=${token}`,
      headers: { 'content-type': FORM, accept: 'text/html', origin },
    })
    expect([response.status, response.headers['location']]).to.deep.equal([303, '/account'])
    expect(cookieOf(response)).to.match(/^hub_session=[\w-]{43}$/)
    const again = await ask(hub().url, `/sign-in/confirm?token=${token}`, {
      headers: { accept: 'text/html' },
    })
    expect([again.status, again.headers['content-type']]).to.deep.equal([
      410,
      'text/html; charset=utf-8',
    ])
    expect(again.text).to.include('Request a new link')
    const twice = await ask(hub().url, '/v1/account/confirm', {
      body: `token=${token}&token=${token}`,
      headers: { 'content-type': FORM },
    })
    expect(twice.status).to.equal(422)
  })

  it('hides its cookie from scripts, other sites and plain HTTP', () => {
    expect(sessionCookie('http://hub.example', 'secret')).to.equal(
      'hub_session=secret; Path=/; Max-Age=2592000; HttpOnly; SameSite=Lax',
    )
    expect(sessionCookie('https://hub.example', 'secret')).to.equal(
      '__Host-hub_session=secret; Path=/; Max-Age=2592000; HttpOnly; SameSite=Lax; Secure',
    )
  })

  it('refuses a network that requests too many emails, with Retry-After', async () => {
    await hub().hub.pool.query(
      `INSERT INTO hub.magic_link (id, hash, email, network, expires_at)
       SELECT 'lnk_' || lpad(n::text, 16, '0'), sha256(n::text::bytea), n || '@example.test',
         '127.0.0', now() FROM generate_series(1, 30) n`,
    )
    const { status, body, headers } = await request(newAddress())
    expect([status, body['code']]).to.deep.equal([429, 'rate_limited'])
    expect(headers['retry-after']).to.equal('3600')
    const { rows } = await hub().hub.pool.query<{ email: string }>(
      `SELECT email FROM hub.device d JOIN hub.person p ON p.principal = d.person
       ORDER BY d.used_at LIMIT 1`,
    )
    const { email } = rows[0]!
    const token = 'k'.repeat(43)
    await hub().hub.pool.query(
      `INSERT INTO hub.device (hash, person)
       SELECT sha256($1::text::bytea), principal FROM hub.person WHERE email = $2`,
      [token, email],
    )
    const response = await ask(hub().url, '/v1/account/sign-in', {
      body: { email },
      headers: { cookie: `hub_device=${token}` },
    })
    expect(response.status, 'but not a browser that has signed in before').to.equal(202)
  })
})

const FOREIGN = 'origin_not_allowed'
const FORM = 'application/x-www-form-urlencoded'
