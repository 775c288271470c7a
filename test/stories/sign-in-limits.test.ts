import { expect } from 'chai'
import { ask } from '../support/ask.ts'
import { tokenIn } from '../support/person.ts'
import { useMailHub } from '../support/suite.ts'

describe('sign-in links', () => {
  const { hub, mailbox } = useMailHub()

  let people = 0
  const newAddress = () => `flooded-${++people}@example.test`
  const request = (email: string) => ask(hub().url, '/v1/account/sign-in', { body: { email } })
  const confirm = (token: string) => ask(hub().url, '/v1/account/confirm', { body: { token } })
  const linkTo = async (email: string) => {
    expect((await request(email)).status).to.equal(202)
    return tokenIn((await mailbox().next(email)).text)
  }

  it('reach known browsers while strangers flood the address (A205)', async () => {
    const email = newAddress()
    const confirmed = await confirm(await linkTo(email))
    const [session, device] = (confirmed.headers['set-cookie'] as unknown as string[]).map(
      (cookie) => cookie.split(';')[0]!,
    )
    expect(device).to.match(/^hub_device=[\w-]{43}$/)
    expect(String(confirmed.headers['set-cookie'])).to.match(/hub_device=[^;]+; .*HttpOnly/)
    const { pool } = hub().hub
    let networks = 0
    /** Floods the address from another network each time. */
    const flood = async (times: number) => {
      for (let i = 0; i < times; i++) {
        expect((await request(email)).status).to.equal(202)
        await pool.query(`UPDATE hub.magic_link SET network = $1 WHERE network = '127.0.0'`, [
          `10.0.${Math.floor(++networks / 5)}`,
        ])
      }
    }
    const mails = async (kind: string) =>
      (
        await pool.query<{ n: number }>(
          `SELECT count(*)::integer AS n FROM hub.magic_link
           WHERE email = $1 AND mailed AND device IS ${kind}`,
          [email],
        )
      ).rows[0]!.n
    await flood(40)
    expect(await mails('NULL'), 'to strangers, from any number of networks').to.equal(15)
    const asKnown = (cookie: string) =>
      ask(hub().url, '/v1/account/sign-in', { body: { email }, headers: { cookie } })
    expect((await asKnown(`hub_device=${'x'.repeat(43)}`)).status).to.equal(202)
    expect(await mails('NOT NULL'), 'of a forged cookie').to.equal(0)
    for (const cookie of [device!, session!]) {
      const before = await mails('NOT NULL')
      expect((await asKnown(cookie)).status).to.equal(202)
      expect(await mails('NOT NULL')).to.equal(before + 1)
    }
    for (let i = 0; i < 9; i++) expect((await asKnown(device!)).status).to.equal(202)
    expect(await mails('NOT NULL'), 'five of the device, one of the session').to.equal(6)
    const other = newAddress()
    await ask(hub().url, '/v1/account/sign-in', {
      body: { email: other },
      headers: { cookie: device! },
    })
    const { rows } = await pool.query('SELECT device FROM hub.magic_link WHERE email = $1', [other])
    expect(rows, 'known to its own address only').to.deep.equal([{ device: null }])
    await pool.query(
      `UPDATE hub.magic_link SET created_at = created_at - interval '2 h' WHERE email = $1`,
      [email],
    )
  })
})
