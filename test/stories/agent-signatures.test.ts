import type { ServerResponse } from 'node:http'
import { expect } from 'chai'
import { Client } from 'mppx/attestation/web-bot-auth'
import { AgentVerifier } from '../../core/agents/agent-verifier.ts'
import { elapsedMs, systemClock } from '../../core/clock.ts'
import { createLog } from '../../core/log.ts'
import { openTestSites, paths, type TestSites } from '../core/catalog/fixture.ts'
import { type ApiResponse, ask, askRaw } from '../support/ask.ts'
import { eventually } from '../support/eventually.ts'
import { useHub } from '../support/suite.ts'
import { AGENT, directory, newAgentKey, type Signature, signatureOf } from './agent-keys.ts'
import { countingService, resetWork, work } from './counted-service.ts'

const PATH = '/proxy/counted/work'
const DIRECTORY = '/.well-known/http-message-signatures-directory'
/** Hosts whose directories never arrive. */
const SILENT = Array.from({ length: 40 }, (_, n) => `silent${n}.test`)
const LATE = 'late.test'

describe('an agent that signs its requests (Web Bot Auth)', () => {
  let sites: TestSites
  const hub = useHub(async () => {
    sites = await openTestSites()
    const port = sites.sandboxHosts.get(AGENT)!
    const more = [...SILENT, LATE].map((name) => [name, port] as const)
    const sandboxHosts = new Map([...sites.sandboxHosts, ...more])
    return { plugins: [countingService], config: { sandboxHosts } }
  })
  after(() => sites.close())

  const key = newAgentKey()
  let apiKey = ''
  before(async () => {
    const agent = await hub().agent()
    await hub().credit(agent.keyId, 1_000_000n)
    apiKey = agent.apiKey
    for (const name of [AGENT, 'index.test']) sites.at(name, paths({ [DIRECTORY]: directory(key) }))
  })
  beforeEach(() => void resetWork())

  const host = () => new URL(hub().url).host
  const sign = (more: Partial<Signature> = {}) => signatureOf({ key, host: host(), ...more })
  const call = (headers: Record<string, string>) =>
    ask(hub().url, PATH, { key: apiKey, body: {}, headers })
  const agentOf = ({ headers }: ApiResponse) => headers['x-agent']
  const problemOf = ({ headers }: ApiResponse) => headers['x-agent-problem']
  const reads = (of: string) => sites.visits.filter((visit) => visit === `GET ${of}${DIRECTORY}`)
  const nonces = async () => {
    const { rows } = await hub().database.admin.query('SELECT FROM hub.used_agent_nonce')
    return rows.length
  }
  /** Expects that the call was served as one without a signature, and why. */
  const unverified = (response: ApiResponse, problem: string, what?: string) => {
    expect([response.status, problemOf(response)], what).to.deep.equal([200, problem])
    expect(agentOf(response), what).to.equal(undefined)
  }

  it('is named in the response and in the record of the call', async () => {
    const response = await call(sign())
    expect([response.status, agentOf(response)], response.text).to.deep.equal([200, AGENT])
    const id = String(response.headers['x-call-id'])
    const { body } = await ask(hub().url, `/v1/calls/${id}`, { key: apiKey })
    expect(body['agent']).to.equal(AGENT)
    const unsigned = await call({})
    const other = String(unsigned.headers['x-call-id'])
    const { body: record } = await ask(hub().url, `/v1/calls/${other}`, { key: apiKey })
    expect(record['agent']).to.equal(null)
  })

  it('may name its directory as a member of a dictionary, as current clients do', async () => {
    const agent = `sig1="http://${AGENT}";type=directory`
    expect(agentOf(await call(sign({ agent })))).to.equal(AGENT)
  })

  it('may use the client of mppx, which names an https origin', async () => {
    const jwk = { ...key.privateKey.export({ format: 'jwk' }), key_ops: ['sign'] }
    const subtle = await crypto.subtle.importKey('jwk', jwk, 'Ed25519', false, ['sign'])
    const client = Client.signer({
      key: subtle,
      keyId: key.id,
      signatureAgent: 'https://a.example',
    })
    const { method, url, headers } = await client.sign(new Request('https://hub.example/x?y=1'))
    const urls: string[] = []
    const verifier = new AgentVerifier({
      pool: hub().database.pool,
      clock: systemClock,
      log: createLog('silent'),
      http: {
        request: async (request) => {
          urls.push(request.url)
          return {
            status: 200,
            headers: {},
            body: Buffer.from(`{"keys":[${JSON.stringify(key.jwk)}]}`),
          }
        },
      },
    })
    const message = { method, url, headers: Object.fromEntries(headers) }
    expect(await verifier.verify(message, 'ada')).to.deep.equal({ agent: 'a.example' })
    expect(await verifier.verify(message, 'ada')).to.deep.equal({ problem: 'nonce_used' })
    expect(urls).to.deep.equal([`https://a.example${DIRECTORY}`])
  })

  it('is named by MCP too', async () => {
    const params = { name: 'hub_call', arguments: { service: 'counted', endpoint: 'POST /work' } }
    const response = await ask(hub().url, '/mcp', {
      key: apiKey,
      body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params },
      headers: { ...sign(), accept: 'application/json, text/event-stream' },
    })
    expect([response.status, agentOf(response)], response.text).to.deep.equal([200, AGENT])
  })

  it('has its directory read once, and never for a call without a signature', async () => {
    sites.visits.length = 0
    const before = await nonces()
    await call({})
    await call({ 'signature-agent': '"http://index.test"' })
    expect([sites.visits, await nonces()]).to.deep.equal([[], before])
    const agent = '"http://index.test"'
    const all = await Promise.all(Array.from({ length: 5 }, () => call(sign({ agent }))))
    expect(all.map(agentOf)).to.deep.equal(Array.from({ length: 5 }, () => 'index.test'))
    expect(reads('index.test')).to.have.length(1)
  })

  describe('is served as unsigned if', () => {
    it('A309 its request is a repetition, within the validity too', async () => {
      const headers = sign()
      const all = await Promise.all(Array.from({ length: 8 }, () => call(headers)))
      expect(all.map(({ status }) => status)).to.deep.equal(Array.from({ length: 8 }, () => 200))
      expect(all.filter((one) => agentOf(one) === AGENT)).to.have.length(1)
      expect(all.filter((one) => problemOf(one) === 'nonce_used')).to.have.length(7)
      unverified(await call(headers), 'nonce_used')
    })

    it('A311 the signature has expired, is not valid yet, or is valid for too long', async () => {
      unverified(await call(sign({ created: -120, expires: -60 })), 'signature_invalid')
      unverified(await call(sign({ created: 60, expires: 120 })), 'signature_invalid')
      unverified(await call(sign({ expires: 86_460 })), 'lifetime_too_long')
    })

    it('A310 the signature is for another host, whatever the request names', async () => {
      const headers = sign({ host: 'other.example' })
      unverified(await call(headers), 'signature_invalid')
      const sent = (target: string, name: string) =>
        askRaw(hub().url, [
          `GET ${target} HTTP/1.1`,
          ...Object.entries(headers).map(([field, value]) => `${field}: ${value}`),
          `X-Forwarded-Host: ${name}`,
        ])
      expect(
        await askRaw(hub().url, [
          `GET ${PATH} HTTP/1.1`,
          ...Object.entries(sign()).map(([field, value]) => `${field}: ${value}`),
        ]),
      ).to.match(/x-agent: agent\.test/i)
      for (const target of [PATH, `http://other.example${PATH}`, `//other.example${PATH}`]) {
        expect(await sent(target, 'other.example'), target).not.to.match(/x-agent: /i)
      }
    })

    it('the signature omits host or agent, or has another tag', async () => {
      const [authority, agent] = ['@authority', 'signature-agent']
      unverified(await call(sign({ covered: [agent] })), 'signature_invalid')
      unverified(await call(sign({ covered: [authority] })), 'signature_invalid')
      unverified(await call(sign({ nonce: null })), 'nonce_missing')
      const tagged = await call(sign({ tag: 'other' }))
      expect([agentOf(tagged), problemOf(tagged)]).to.deep.equal([undefined, undefined])
    })

    it('the request was changed after it was signed', async () => {
      const headers = sign()
      const others = {
        'signature-agent': '"http://index.test"',
        'signature-input': headers['signature-input']!.replace('tag=', 'x=1;tag='),
        signature: sign()['signature']!,
      }
      for (const [name, value] of Object.entries(others)) {
        const response = await call({ ...headers, [name]: value })
        unverified(response, 'signature_invalid', name)
      }
      expect(agentOf(await call(headers)), 'its nonce was not used up').to.equal(AGENT)
    })

    it('the key is not in the directory of that agent', async () => {
      unverified(await call(sign({ key: newAgentKey() })), 'key_unknown')
      // The thumbprint of a key that is there, with the signature of another one.
      const { privateKey } = newAgentKey()
      unverified(await call(sign({ key: { id: key.id, privateKey } })), 'signature_invalid')
    })

    it('it names none, several, or other forms of directories', async () => {
      for (const agent of [
        '',
        'agent.test',
        '"agent.test"',
        `"ftp://${AGENT}"`,
        `"http://${AGENT}:8080"`,
        `sig1="https://${AGENT}/keys";type=jwks_uri`,
        `sig1="http://${AGENT}", sig2="http://index.test"`,
      ]) {
        unverified(await call(sign({ agent })), 'agent_invalid', agent)
      }
      const { 'signature-agent': _, ...unnamed } = sign()
      unverified(await call(unnamed), 'agent_invalid')
    })

    it('A312 its directory is on a private address', async () => {
      sites.visits.length = 0
      for (const name of ['127.0.0.1', 'localhost', '[::1]', '169.254.169.254', '10.0.0.1']) {
        unverified(await call(sign({ agent: `"http://${name}"` })), 'key_unknown', name)
      }
      expect(sites.visits).to.deep.equal([])
    })

    it('A312 its directory is too large, elsewhere, broken, or hangs, within 2 s', async () => {
      const valid = directory(key)
      const broken: Readonly<Record<string, (response: ServerResponse) => unknown>> = {
        'owner.test': (response) =>
          response.writeHead(200).end(JSON.stringify({ keys: [key.jwk] }).padEnd(65_537)),
        'shop.test': (response) =>
          response.writeHead(302, { Location: `http://${AGENT}${DIRECTORY}` }).end(),
        'other.test': () => undefined,
        'gateway.test': (response) => response.writeHead(200).end('{"keys":[null,{"kty":"oct"}]}'),
      }
      for (const [name, respond] of Object.entries(broken)) {
        sites.at(name, (_, response) => void respond(response))
        const start = elapsedMs()
        unverified(await call(sign({ agent: `"http://${name}"` })), 'key_unknown', name)
        expect(elapsedMs() - start, name).to.be.below(2_000)
        // It is not asked again at once, though it may have recovered.
        sites.at(name, paths({ [DIRECTORY]: valid }))
        unverified(await call(sign({ agent: `"http://${name}"` })), 'key_unknown', name)
        expect(reads(name)).to.have.length(1)
      }
    })
  })

  it('A320 is verified while another caller names unknown directories that hang', async () => {
    const eve = await hub().agent()
    await hub().credit(eve.keyId, 1_000_000n)
    for (const name of SILENT) sites.at(name, () => undefined)
    const flood = SILENT.map((name) =>
      ask(hub().url, PATH, {
        key: eve.apiKey,
        body: {},
        headers: sign({ agent: `"http://${name}"` }),
      }),
    )
    await eventually(() => SILENT.some((name) => reads(name).length > 0))
    sites.at(LATE, paths({ [DIRECTORY]: directory(key) }))
    expect(agentOf(await call(sign({ agent: `"http://${LATE}"` })))).to.equal(LATE)
    const problems = (await Promise.all(flood)).map(problemOf)
    expect(problems.filter((problem) => problem === 'key_unknown')).to.have.length(2)
    expect(problems.filter((problem) => problem === 'unavailable')).to.have.length(38)
  })

  it('pays the same as everyone if its signature is not verified', async () => {
    const response = await call(sign({ created: -120, expires: -60 }))
    expect(response.headers['x-charged-microdollars']).to.equal('1000')
    expect(work.done).to.equal(1)
  })
})
