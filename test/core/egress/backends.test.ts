import { expect } from 'chai'
import { createBackends } from '../../../core/egress/backends.ts'
import { EgressError } from '../../../core/egress/errors.ts'
import { type Listening, listen, realSockets } from './fixture.ts'

describe('the client for servers of the operator', () => {
  realSockets()
  let named: Listening
  let other: Listening
  before(async () => {
    named = await listen()
    other = await listen()
  })
  after(() => Promise.all([named.stop(), other.stop()]))

  const requestOrError = async (url: string): Promise<unknown> => {
    const backends = createBackends({
      origins: [`http://127.0.0.1:${named.port}`],
      userAgent: 'test',
    })
    try {
      return await backends.request({ url, method: 'GET' })
    } catch (error) {
      return error
    } finally {
      await backends.close()
    }
  }

  it('reaches this machine at a listed origin', async () => {
    expect(await requestOrError(`http://127.0.0.1:${named.port}/any/path`)).to.have.property(
      'status',
      200,
    )
  })

  it('refuses any other port, name or scheme, and sends nothing there', async () => {
    for (const url of [
      `http://127.0.0.1:${other.port}/`,
      `http://localhost:${named.port}/`,
      `https://127.0.0.1:${named.port}/`,
      `http://127.0.0.1:${named.port}@127.0.0.1:${other.port}/`,
      'not a url',
    ]) {
      const error = await requestOrError(url)
      expect(error, url).to.be.instanceOf(EgressError)
      expect(error, url).to.include({ code: 'destination_not_allowed', sent: false })
    }
    expect(other.connections()).to.equal(0)
  })
})
