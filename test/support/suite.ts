import nock from 'nock'
import { startTestHub, type TestHub } from './hub.ts'

type Options = NonNullable<Parameters<typeof startTestHub>[0]>

/**
 * Provides one hub for all tests of a `describe`, with real sockets: nock of other tests would
 * intercept requests, and the egress guard could not check connections.
 */
export function useHub(options?: Options | (() => Promise<Options>)): () => TestHub {
  let hub: TestHub | undefined
  before(async function () {
    this.timeout(60_000)
    nock.restore()
    hub = await startTestHub(typeof options === 'function' ? await options() : options)
  })
  after(async function () {
    this.timeout(60_000)
    await hub?.close()
    nock.activate()
  })
  return () => hub!
}
