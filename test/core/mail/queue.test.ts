import { expect } from 'chai'
import { createLog } from '../../../core/log.ts'
import { sendMails } from '../../../core/mail/queue.ts'
import { type FreshDatabase, freshDatabase } from '../../support/postgres.ts'

describe('the queue of mails', () => {
  let database: FreshDatabase
  before(async () => {
    database = await freshDatabase()
  })
  after(() => database.drop())

  it('leases a mail when it is sent next, so that slow ones do not outlast its lease', async () => {
    const { pool, admin } = database
    await admin.query(
      `INSERT INTO hub.mail (template, recipient, subject_id, expires_at)
       SELECT 'sign-in', 'one@example.test', n::text, now() + n * interval '1 hour'
       FROM generate_series(1, 3) n`,
    )
    const leased: number[] = []
    const sent: string[] = []
    const handled = await sendMails(
      { pool, log: createLog('silent') },
      {
        compose: async ({ subject }) => ({ to: 'one@example.test', subject, text: subject }),
        transport: {
          send: async ({ subject }) => {
            const { rows } = await admin.query<{ n: number }>(
              'SELECT count(*)::integer AS n FROM hub.mail WHERE next_at > now()',
            )
            leased.push(rows[0]!.n)
            sent.push(subject)
          },
          close: async () => {},
        },
      },
    )
    expect(sent).to.deep.equal(['1', '2', '3'])
    expect(leased, 'mails leased while one is sent').to.deep.equal([1, 1, 1])
    expect(handled).to.equal(3)
    expect((await admin.query('SELECT 1 FROM hub.mail')).rowCount).to.equal(0)
  })
})
