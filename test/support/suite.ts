import nock from 'nock'
import { startTestHub, type TestHub } from './hub.ts'
import { type Mailbox, openMailbox } from './mailbox.ts'
import { TEST_CLUSTER } from './postgres.ts'

/**
 * Maximum time to start or stop a hub: long, because the machine may be busy. A cluster has its
 * database copied on three servers.
 */
export const START_MS = TEST_CLUSTER ? 300_000 : 180_000

/** Maximum time of a test of many random cases. A cluster plans each query once for each shard. */
export const PROPERTY_MS = TEST_CLUSTER ? 600_000 : 60_000

type Options = NonNullable<Parameters<typeof startTestHub>[0]>

/**
 * Provides one hub for all tests of a `describe`, with real sockets: nock of other tests would
 * intercept requests, and the egress guard could not check connections.
 */
export function useHub(options?: Options | (() => Promise<Options>)): () => TestHub {
  let hub: TestHub | undefined
  before(async function () {
    this.timeout(START_MS)
    nock.restore()
    hub = await startTestHub(typeof options === 'function' ? await options() : options)
  })
  after(async function () {
    this.timeout(START_MS)
    await hub?.close()
    nock.activate()
  })
  return () => hub!
}

/** Provides a hub as `useHub` does, which runs jobs and sends its mails to a mailbox. */
export function useMailHub(options: Options = {}) {
  let mailbox: Mailbox | undefined
  const hub = useHub(async () => {
    mailbox = await openMailbox()
    const mail = { smtpUrl: mailbox.url, from: 'hub@example.test' }
    return { ...options, config: { mail, jobs: true, ...options.config } }
  })
  after(() => mailbox?.close())
  return { hub, mailbox: () => mailbox! }
}
