import { createPublicKey } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import {
  type CallProof,
  type EntryProof,
  ProofError,
  verifyCallProof,
} from '../../core/client/index.ts'
import { parseWitnessKey } from '../../core/crypto/cosignature.ts'
import { createBackends } from '../../core/egress/backends.ts'
import { RetainedCheckpoints } from '../../core/ledger/retained-checkpoints.ts'
import { extendTrees } from '../../core/ledger/transparency/extend-trees.ts'
import { parseHeadsNote, signHeads } from '../../core/ledger/transparency/heads-note.ts'
import { cosignHeads } from '../../core/ledger/transparency/witnesses.ts'
import { verifySince } from '../../core/ledger/verify/incremental.ts'
import { createLog } from '../../core/log.ts'
import { usd } from '../../core/money.ts'
import { usersOf } from '../server/cli/hub.ts'
import { ask } from '../support/ask.ts'
import { eventually } from '../support/eventually.ts'
import type { TestAgent } from '../support/hub.ts'
import { useHub } from '../support/suite.ts'
import { TestWitness } from '../support/witness.ts'

type Keys = Parameters<typeof verifyCallProof>[1]

describe('the proof of a call', () => {
  const hub = useHub()
  const { customer } = usersOf(() => hub().url)
  let agent: TestAgent
  let keys: Keys
  let call: string
  let proof: CallProof

  const fetchProof = (id: string, key = agent.apiKey) =>
    ask(hub().url, `/v1/calls/${id}/proof`, { key })
  const say = async (key: string): Promise<string> => {
    const { headers } = await ask(hub().url, '/proxy/echo/say', { key, body: { words: 'a' } })
    return String(headers['x-call-id'])
  }
  /** Extends the trees and signs checkpoints, as jobs do each minute. */
  async function sign(): Promise<void> {
    const { pool } = hub().database
    await extendTrees(pool)
    const key = hub().hub.secretKeys.signingKey()
    await verifySince(pool, { key, retained: new RetainedCheckpoints(hub().dataDir) })
  }

  /** Requests of proofs that the hub has answered. */
  async function proofRequests(): Promise<number> {
    const text = await (await fetch(`${hub().url}/metrics`)).text()
    const counts = text.matchAll(/^hub_http_requests_total\{route="[^"]*proof".*\} (\d+)$/gm)
    return [...counts].reduce((sum, [, count]) => sum + Number(count), 0)
  }

  before(async () => {
    agent = await hub().agent()
    await hub().credit(agent.keyId, usd('1'))
    const { body } = await ask(hub().url, '/.well-known/jwks.json')
    keys = body['keys'] as Keys
    call = await say(agent.apiKey)
    const early = await fetchProof(call)
    expect(early.body['entries'], 'before a checkpoint').to.deep.equal([])
    await sign()
    for (let n = 0; n < 5; n++) await say(agent.apiKey)
    await sign()
    proof = (await fetchProof(call)).body as unknown as CallProof
  })

  it('shows its receipt and its entries in the signed journal', () => {
    const { claims, entries } = verifyCallProof(proof, keys)
    expect(claims).to.include({ jti: call, charged_microdollars: 100, source: 'credits' })
    expect(entries).to.have.length(2)
    for (const { seq, size, heads } of entries) {
      expect(size).to.be.above(seq)
      expect(heads).to.include.keys('size', 'at').and.deep.include({ cosignatures: [] })
    }
  })

  it('leads on to the root over all shards', () => {
    const [entry] = proof.entries as [EntryProof]
    const check = (altered: Partial<NonNullable<EntryProof['heads']>>) =>
      verifyCallProof({ ...proof, entries: [{ ...entry, heads: { ...heads, ...altered } }] }, keys)
    const heads = entry.heads!
    check({})
    expect(heads.path).to.not.be.empty
    const other = Buffer.alloc(32, 7).toString('base64')
    expect(() => check({ path: heads.path.with(0, other) })).to.throw(ProofError, 'does not lead')
    expect(() => check({ leaf_index: heads.leaf_index + 1 })).to.throw(ProofError, 'does not lead')
    expect(() => check({ checkpoint: entry.checkpoint })).to.throw(ProofError, 'another ledger')
    expect(() => check({ checkpoint: heads.checkpoint.replace(/\n\d+\n/, '\n1\n') })).to.throw(
      ProofError,
      'not signed',
    )
  })

  it('is only for those who may see the call', async () => {
    const stranger = await hub().agent()
    const { status, body } = await fetchProof(call, stranger.apiKey)
    expect([status, body['code']]).to.deep.equal([404, 'not_found'])
    expect((await fetchProof('nonsense')).status).to.equal(404)
  })

  it('does not hold for another call, key, place or amount', async () => {
    const other = (await fetchProof(await say(agent.apiKey))).body as unknown as CallProof
    expect(() => verifyCallProof({ ...proof, receipt: other.receipt }, keys)).to.throw(
      ProofError,
      'not the one',
    )
    expect(() => verifyCallProof({ ...proof, entries: [] }, keys)).to.throw(ProofError)
    expect(() => verifyCallProof(proof, [])).to.throw(ProofError, 'not signed')
    const [first, second] = proof.entries as [EntryProof, EntryProof]
    const moved = { ...first, leaf_index: second.leaf_index }
    expect(() => verifyCallProof({ ...proof, entries: [moved] }, keys)).to.throw(ProofError)
    expect(() => verifyCallProof({ ...proof, entries: [{ ...first, path: [] }] }, keys)).to.throw(
      ProofError,
    )
  })

  it('A294 does not hold if any byte of an entry, its path or its checkpoint is altered', () => {
    const [, entry] = proof.entries as [EntryProof, EntryProof]
    const check = (altered: EntryProof) => verifyCallProof({ ...proof, entries: [altered] }, keys)
    check(entry)
    const row = Buffer.from(entry.row, 'base64')
    for (const at of row.keys()) {
      const changed = Buffer.from(row)
      changed[at]! ^= 1
      expect(() => check({ ...entry, row: changed.toString('base64') }), `${at}`).to.throw(
        ProofError,
      )
    }
    for (const [n, hash] of entry.path.entries()) {
      const changed = Buffer.from(hash, 'base64')
      changed[n]! ^= 1
      const path = entry.path.with(n, changed.toString('base64'))
      expect(() => check({ ...entry, path }), `sibling ${n}`).to.throw(ProofError)
    }
    const signed = entry.checkpoint.indexOf('\n\n')
    for (let at = 0; at < signed; at++) {
      const replaced = entry.checkpoint[at] === '1' ? '2' : '1'
      const checkpoint = entry.checkpoint.slice(0, at) + replaced + entry.checkpoint.slice(at + 1)
      expect(() => check({ ...entry, checkpoint }), `${at}`).to.throw(ProofError)
    }
  })

  it('is printed by the command line, and verified by it offline', async () => {
    const ada = await customer()
    const { call_id: id } = await ada.json('call', 'echo/say', '-d', '{"words":"a"}')
    const early = await ada.hub(['--wait', '0', 'receipts', 'prove', String(id)])
    expect([early.exit, early.out]).to.deep.equal([1, ''])
    expect(early.err).to.include('No signed checkpoint covers')
    const requestCount = await proofRequests()
    const printing = ada.hub(['receipts', 'prove', String(id)])
    await eventually(async () => (await proofRequests()) > requestCount)
    await sign()
    const printed = await printing
    expect(printed.exit, printed.err).to.equal(0)
    const [file, jwks] = [join(ada.home, 'call.json'), join(ada.home, 'jwks.json')]
    writeFileSync(file, printed.out)
    writeFileSync(jwks, JSON.stringify({ keys }))
    const offline = ['--hub', 'http://127.0.0.1:1', 'receipts', 'verify', file, '--keys', jwks]
    expect((await ada.hub(offline)).out).to.match(/in its ledger\.\nEntry \d+ of shard \d+/)
    writeFileSync(file, printed.out.replace(/"leaf_index": (\d+)/, '"leaf_index": 1$1'))
    const altered = await ada.hub(offline)
    expect([altered.exit, altered.out]).to.deep.equal([1, ''])
    expect(altered.err).to.include('The path does not lead')
    writeFileSync(file, '{}')
    expect((await ada.hub(offline)).err).to.include('not a proof')
  })

  it('lets its reader check later that the ledger was not rewritten', async () => {
    const ada = await customer()
    const at = (name: string): string => join(ada.home, name)
    writeFileSync(at('call.json'), JSON.stringify(proof))
    writeFileSync(at('jwks.json'), JSON.stringify({ keys }))
    const heads = await (await fetch(`${hub().url}/v1/ledger/trees/heads/checkpoint`)).text()
    writeFileSync(at('checkpoint'), heads)
    await say(agent.apiKey)
    await sign()
    const trusted = ['--keys', at('jwks.json')]
    const shown = await ada.hub(['receipts', 'compare', at('call.json'), ...trusted])
    expect(shown.out, shown.err).to.match(/^Valid: nothing was changed.*\nEntries of shard \d+: /)
    const compared = await ada.hub(['--json', 'receipts', 'compare', at('checkpoint'), ...trusted])
    expect(compared.exit, compared.err).to.equal(0)
    writeFileSync(at('log.json'), compared.out)
    const offline = [
      '--hub',
      'http://127.0.0.1:1',
      'receipts',
      'verify',
      at('log.json'),
      ...trusted,
    ]
    expect((await ada.hub(offline)).out).to.include('Checkpoints of all shards: ')
    writeFileSync(at('log.json'), compared.out.replaceAll('"hashes":[', '"hashes":["AAAA",'))
    expect((await ada.hub(offline)).exit).to.equal(1)
    const other = signHeads(
      { ...parseHeadsNote(heads)!, root: Buffer.alloc(32, 7) },
      hub().hub.secretKeys.signingKey(),
    )
    writeFileSync(at('checkpoint'), other)
    const forked = await ada.hub(['receipts', 'compare', at('checkpoint'), ...trusted])
    expect([forked.exit, forked.out]).to.deep.equal([1, ''])
    expect(forked.err).to.match(/The log was (?:rewritten|forked)/)
    writeFileSync(at('checkpoint'), 'nonsense')
    expect((await ada.hub(['receipts', 'compare', at('checkpoint')])).err).to.include(
      'no checkpoint',
    )
  })

  it('is worth more with witnesses, whose cosignatures its reader demands', async () => {
    const ada = await customer()
    const at = (name: string): string => join(ada.home, name)
    const witness = new TestWitness('witness.example/w1')
    const url = await witness.listen()
    const egress = createBackends({ origins: [new URL(url).origin], userAgent: 'test' })
    try {
      const { pool } = hub().database
      const get = (path: string) => fetch(`${hub().url}/v1/ledger/trees/heads/${path}`)
      const [origin] = (await (await get('checkpoint')).text()).split('\n')
      const key = createPublicKey({ key: keys[0]!, format: 'jwk' })
      witness.logs.set(origin!, { key, size: 0, root: '' })
      expect((await get('checkpoint?cosignatures=1')).status, 'before').to.equal(404)
      const witnesses = [{ key: parseWitnessKey(witness.vkey)!, url }]
      await cosignHeads({ pool, witnesses, egress, log: createLog('silent') })
      const cosigned = await (await get('checkpoint?cosignatures=1')).text()
      expect(cosigned).to.equal(await (await get('checkpoint')).text())
      expect(cosigned).to.include(`\n— ${witness.name} `)
      writeFileSync(at('old.json'), JSON.stringify(proof))
      writeFileSync(at('new.json'), JSON.stringify((await fetchProof(call)).body))
      const trusted = ['--witness', witness.vkey]
      const valid = await ada.hub(['receipts', 'verify', at('new.json'), ...trusted])
      expect(valid.out, valid.err).to.include(`Cosigned by ${witness.name} at 2`)
      const alone = await ada.hub(['receipts', 'verify', at('old.json'), ...trusted])
      expect([alone.exit, alone.out]).to.deep.equal([1, ''])
      expect(alone.err).to.include('Only 0 of the trusted witnesses')
      const compared = await ada.hub(['receipts', 'compare', at('old.json'), ...trusted])
      expect(compared.out, compared.err).to.include(`Cosigned by ${witness.name} at 2`)
      const two = [...trusted, new TestWitness('witness.example/w2').vkey]
      const refused = await ada.hub(['receipts', 'compare', at('old.json'), ...two])
      expect([refused.exit, refused.out]).to.deep.equal([1, ''])
      const usage = await ada.hub(['receipts', 'verify', at('new.json'), '--quorum', '1'])
      expect(usage.err).to.include('--witness')
    } finally {
      witness.close()
      await egress.close()
    }
  })
})
