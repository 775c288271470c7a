import { expect } from 'chai'
import { createAdmin } from '../server/rest/finance/fixture.ts'
import { ask } from '../support/ask.ts'
import { type Person, signIn } from '../support/person.ts'
import { useMailHub } from '../support/suite.ts'

/** Forms that mail programs post, by their type (RFC 8058 §3.2). */
const ONE_CLICK = {
  'application/x-www-form-urlencoded': 'List-Unsubscribe=One-Click',
  'multipart/form-data; boundary=b':
    '--b\r\nContent-Disposition: form-data; name="List-Unsubscribe"\r\n\r\nOne-Click\r\n--b--\r\n',
}

describe('emails about incidents', () => {
  const admin = createAdmin()
  const { hub, mailbox } = useMailHub({ config: { admins: [admin.wallet] } })

  const path = '/v1/account/incident-mail'
  async function subscribe(email: string): Promise<Person> {
    const person = await signIn(hub().url, mailbox(), email)
    await person.ask(path, { method: 'PUT', body: { subscribed: true } })
    return person
  }
  const isSubscribed = async (person: Person) => (await person.ask(path)).body['subscribed']
  async function report(title: string): Promise<void> {
    const body = { title, state: 'investigating', message: 'Calls fail.', reason: 'a test' }
    const key = await admin.key(hub())
    const { status, text } = await ask(hub().url, '/v1/admin/incidents', { key, body })
    expect(status, text).to.equal(200)
  }
  /** Address and method of the unsubscription that a mail announces. */
  async function announced(email: string) {
    const { raw, text } = await mailbox().next(email, 1)
    const headers = raw.slice(0, raw.indexOf('\r\n\r\n')).replaceAll(/\r\n\s+/g, ' ')
    const url = /^List-Unsubscribe: <([^>]+)>/m.exec(headers)?.[1] ?? ''
    expect(headers).to.match(/^List-Unsubscribe-Post: List-Unsubscribe=One-Click\r?$/m)
    expect(text).to.include(url)
    return url
  }

  for (const [type, body] of Object.entries(ONE_CLICK)) {
    it(`end by one POST of a mail program, and not by opening the link (${type})`, async () => {
      const person = await subscribe(`${body.length}@example.test`)
      const other = await subscribe(`${body.length}-other@example.test`)
      await report(`Slow answers to ${type}`)
      const { pathname, search } = new URL(await announced(person.email))
      const link = `${pathname}${search}`
      const opened = await ask(hub().url, link, { headers: { accept: 'text/html' } })
      expect([opened.status, await isSubscribed(person)]).to.deep.equal([200, true])
      for (const time of ['first', 'second']) {
        const { status } = await ask(hub().url, link, { body, headers: { 'content-type': type } })
        expect(status, `${time} POST, without a redirect`).to.equal(200)
        expect(await isSubscribed(person)).to.equal(false)
      }
      expect(await isSubscribed(other), 'the link is of one subscription').to.equal(true)
    })
  }

  it('are the only emails with List-Unsubscribe', async () => {
    const { raw } = await mailbox().next(
      (await signIn(hub().url, mailbox(), 'cy@example.test')).email,
    )
    expect(raw).not.to.include('List-Unsubscribe')
  })

  it('continue if the token is unknown or malformed (422)', async () => {
    const person = await subscribe('dee@example.test')
    for (const token of ['', 'x', '0'.repeat(36)]) {
      const link = `/unsubscribe?token=${token}`
      const [type, body] = Object.entries(ONE_CLICK)[0]!
      const { status } = await ask(hub().url, link, { body, headers: { 'content-type': type } })
      expect(status, token).to.equal(422)
    }
    expect(await isSubscribed(person)).to.equal(true)
  })
})
