import { expect } from 'chai'
import { usd } from '../../core/money.ts'
import { ask } from '../support/ask.ts'
import { eventually } from '../support/eventually.ts'
import { type Person, signIn } from '../support/person.ts'
import { useMailHub } from '../support/suite.ts'
import { flawed } from './failing-services.ts'

describe('emails about low balances', () => {
  const { hub, mailbox } = useMailHub({ plugins: [flawed] })

  const path = '/v1/account/balance-mail'
  const mailsTo = (email: string) => mailbox().mails.filter(({ to }) => to.includes(email)).length

  /** Credits a key of a person with a dollar, and lets a call bring it below a threshold. */
  async function fall(person: Person, name: string) {
    const { body } = await person.ask('/v1/keys', { body: { name } })
    const id = String(body['key_id'])
    const threshold = { low_balance_microdollars: 999_500 }
    await person.ask(`/v1/keys/${id}`, { method: 'PATCH', body: threshold })
    await hub().credit(id, usd('1'))
    const key = String(body['api_key'])
    expect((await ask(hub().url, '/proxy/flawed/works', { key, body: {} })).status).to.equal(200)
    return id
  }
  const falls = async (id: string): Promise<bigint> => {
    const { rows } = await hub().database.admin.query<{ count: bigint }>(
      `SELECT count(*) FROM hub.low_balance l JOIN ledger.account a ON a.id = l.account
       WHERE a.code = 'liabilities:agents:' || $1 || ':credits'`,
      [id],
    )
    return rows[0]!.count
  }

  it('go to owners who asked for them, until they stop them by the link in one', async () => {
    const ada = await signIn(hub().url, mailbox(), 'ada@example.test')
    const bob = await signIn(hub().url, mailbox(), 'bob@example.test')
    expect((await ada.ask(path)).body).to.deep.equal({ subscribed: false })
    await ada.ask(path, { method: 'PUT', body: { subscribed: true } })
    const other = await fall(bob, 'Night shift')
    const id = await fall(ada, 'Research')
    const { text, raw } = await mailbox().next(ada.email, 1)
    expect(raw).to.match(/^Subject: Low balance at .*: \$0\.999 left/m)
    expect(text)
      .to.include(`Research (${id}) fell below $0.9995: $0.999 is left.`)
      .and.to.include(`${hub().url}/topup?key_id=${id}`)
    const [link = ''] = /\/unsubscribe\?token=[\w-]+/.exec(text) ?? []
    const stop = { 'content-type': 'application/x-www-form-urlencoded' }
    const body = 'List-Unsubscribe=One-Click'
    expect((await ask(hub().url, link, { body, headers: stop })).status).to.equal(200)
    expect((await ada.ask(path)).body).to.deep.equal({ subscribed: false })
    const later = await fall(ada, 'Press review')
    await eventually(async () => (await falls(later)) === 1n && (await falls(other)) === 1n)
    await eventually(async () => {
      const { rowCount } = await hub().database.admin.query('SELECT FROM hub.mail')
      return rowCount === 0
    })
    expect([mailsTo(ada.email), mailsTo(bob.email)], 'besides those to sign in').to.deep.equal([
      2, 1,
    ])
  })
})
