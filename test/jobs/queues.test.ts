import { generateKeyPairSync } from 'node:crypto'
import { expect } from 'chai'
import { systemClock } from '../../core/clock.ts'
import { signingKeyOf } from '../../core/crypto/signing-key.ts'
import { inTransaction } from '../../core/db/transaction.ts'
import { createLog } from '../../core/log.ts'
import { enqueueMail, type Mail } from '../../core/mail/queue.ts'
import { singleKey } from '../../core/secret-keys/purpose-keys.ts'
import { workQueues } from '../../jobs/queues.ts'
import { eventually } from '../support/eventually.ts'
import { type FreshDatabase, freshDatabase } from '../support/postgres.ts'

describe('the mail, webhook and export queues', () => {
  let database: FreshDatabase
  const signingKey = signingKeyOf(generateKeyPairSync('ed25519').privateKey)
  const keys = singleKey(Buffer.alloc(32))
  const secretKeys = { of: () => keys, signingKey: () => signingKey }
  const log = createLog('silent', process.stdout, [])

  before(async () => {
    database = await freshDatabase()
  })
  after(() => database.drop())

  /** Starts a process that works the queues. */
  function start(send: (mail: Mail) => Promise<void>): () => Promise<void> {
    const stopping = new AbortController()
    const mailing = {
      transport: { send, close: async () => {} },
      compose: async ({ recipient: to }: { readonly recipient: string }) => {
        return { to, subject: 'Hello', text: 'How are you?' }
      },
    }
    const { pool } = database
    const deps = { pool, log, mailing, secretKeys, clock: systemClock }
    const ended = workQueues(deps, stopping.signal)
    return async () => {
      stopping.abort()
      await ended
    }
  }

  const write = (recipient: string) =>
    inTransaction(database.pool, (client) =>
      enqueueMail(client, {
        template: 'sign-in',
        recipient,
        subject: 'lnk_1',
        expires: new Date(Date.now() + 600_000),
      }),
    )

  it('are worked by every process, so that one that hangs does not block the others', async () => {
    const leased: string[] = []
    const sent: string[] = []
    const release = Promise.withResolvers<void>()
    const stopHanging = start(async ({ to }) => {
      leased.push(to)
      await release.promise
    })
    await write('ada@example.com')
    await eventually(() => leased.length === 1)
    const stop = start(async ({ to }) => void sent.push(to))
    await write('bob@example.com')
    await eventually(() => sent.length === 1)
    expect([leased, sent]).to.deep.equal([['ada@example.com'], ['bob@example.com']])
    release.resolve()
    await Promise.all([stopHanging(), stop()])
  })
})
