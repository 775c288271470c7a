import nock from 'nock'
import { stopSharedCluster } from './postgres.ts'

/** No test reaches the network: only loopback is open. */
export const mochaHooks = {
  beforeAll(): void {
    nock.disableNetConnect()
    nock.enableNetConnect(/^(127\.0\.0\.1|localhost|\[::1\])/)
  },
  afterEach(): void {
    const pending = nock.pendingMocks()
    nock.cleanAll()
    if (pending.length > 0) throw new Error(`unused mocks: ${pending.join(', ')}`)
  },
  async afterAll(): Promise<void> {
    await stopSharedCluster()
  },
}
