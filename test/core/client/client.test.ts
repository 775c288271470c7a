import { expect } from 'chai'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { HubClient, HubError } from '../../../core/client/index.ts'
import { usd } from '../../../core/money.ts'
import { signInOffer } from '../../../core/payments/receiving/sign-in-offer.ts'
import { type Listening, listen } from '../../server/http.ts'

describe('the client', () => {
  let server: Listening
  let requests: string[] = []
  /** Problem that the hub returns in the current test. */
  let problem: { readonly status: number; readonly code: string }
  /** PAYMENT-REQUIRED beside the problem. */
  let offer: string | undefined

  before(async () => {
    server = await listen(({ url = '' }, response) => {
      requests.push(url)
      response.writeHead(problem.status, {
        'content-type': 'application/problem+json',
        ...(offer && { 'payment-required': offer }),
      })
      response.end(JSON.stringify(problem))
    })
  })
  beforeEach(() => {
    requests = []
    offer = undefined
  })
  after(() => server.close())

  const refused = async (): Promise<unknown> => {
    const wallet = { account: privateKeyToAccount(generatePrivateKey()), sandbox: true }
    const client = new HubClient({ baseUrl: `http://127.0.0.1:${server.port}`, wallet })
    return client.call('echo', '/say', {}, { payUpTo: usd('1') }).catch((error: unknown) => error)
  }

  it('throws for a problem with a success status', async () => {
    problem = { status: 202, code: 'payment_pending' }
    expect(await refused())
      .to.be.instanceOf(HubError)
      .and.to.include(problem)
  })

  it('pays a 402 only if it is an offer', async () => {
    problem = { status: 402, code: 'price_exceeds_max' }
    expect(await refused())
      .to.be.instanceOf(HubError)
      .and.to.include(problem)
    expect(requests).to.deep.equal(['/proxy/echo/say'])
  })

  it('throws the problem of a 402 whose offer has no terms, only a challenge to sign', async () => {
    problem = { status: 402, code: 'insufficient_credits' }
    const resource = { url: 'http://127.0.0.1/proxy/echo/say', description: '', mimeType: '' }
    offer = signInOffer(resource, { info: {} }, 'Credits only.')
    expect(await refused())
      .to.be.instanceOf(HubError)
      .and.to.include(problem)
    expect(requests).to.deep.equal(['/proxy/echo/say'])
  })
})
